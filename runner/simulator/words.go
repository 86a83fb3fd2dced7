package simulator

import "strings"

// vocabulary is what answers are made of. Each word is at most six letters long, so that [appendTokens] takes it, and the blank before it, for
// one token, and needs no escaping in JSON.
var vocabulary = strings.Fields(`
able above acid across act add after again age ago air all alone along amber among angle ant apple apron arch area arm art ash ask atlas
aunt autumn away axis baby back badge bake ball band bank bar barn base basin basket bay bead beam bean bear beat bed bee bell below bench
berry best bird birch bit blade blank block bloom blue board boat bold bone book boot bow bowl box branch brass bread break breeze brick
bridge bright broad brook broom brown brush build burn bus bush busy butter button cabin cable cake calm camel camp canal candle cap car
card care carrot cart case castle cat cause cave cedar cell chain chair chalk change cheese cherry chess chest child choice church circle
city class clay clean clear clever cliff clock cloth cloud clover coach coast coat coffee coin cold colour column comb common cook cool
copper coral cord corn corner cotton count couple cousin cover cow crane cream creek crew crisp crop cross crowd crown cup curve dance
dark dawn day deck deep deer delta desert desk dial dinner dish dive dog door dough dove dozen draw dream dress drift drive drum dry duck
dune dusk dust eager early earth easel east easy echo edge egg eight elbow elm empty engine enough equal even ever every exact eye face
fair fall far farm fast fence fern few field fig find fine finger fir fire first fish five flag flame flat flint float flock floor flour
flower flute fly foam fog fold food foot forest fork form four fox frame free fresh friend frog front frost fruit full garden gate gentle
gift glad glass globe glove goat gold good grain grand grape grass gravel great green grey ground group grow guest guide gull hall hammer
hand happy harbor hard harp hat hay hazel head heart heavy hedge height help hen herb heron high hill hinge hold hole home honest honey
hood hook hope horn horse hot hotel hour house huge ice idea inch ink inn iron island ivy jacket jar jay jewel join joke jolly judge
juice jump keen keep kettle key kind king kite knee knife knot ladder lake lamb lamp land lane large lark last late laugh laurel law leaf
learn lemon lentil letter level lid light lilac lily lime line linen lion list little lively loaf lock log long loop loose lot loud love low
loyal lunch maple map marble march market mast match may meadow meal melon metal middle mild milk mill mind mint mirror mist moment month
moon moss moth motor mouse mud music narrow near neat nest net new next nice night nine noble noon north nose note novel number nurse nut
oak oar oat ocean olive onion open orange orbit otter oval oven owl page paint pair palm paper parcel park path pea peach pear pebble pencil
people pepper petal piano pie pier pillar pine pink pipe place plain planet plant plate play plum pocket poem point pond pony poppy port
post pot proud pump purple puzzle quail quick quiet quilt rabbit rain ranch raven reed rest rice ribbon rich ride ring ripe river road
robin rock roof room root rope rose round row rug rural sage sail salt sand satin sauce scale school sea seal seed seven shade shape sheep
shell ship shoe shore short silk silver simple six sky sleep slow small smooth snow soap soft soil song soup south spark spoon spring
square stable stair star steam stem step still stone storm story straw stream street strong sugar summer sun swan sweet table tail tall
tea ten thin three thyme tide timber tin tiny toast tower town trail train tray tree trout true trunk tulip tunnel turn twelve twig two
valley velvet view vine violet violin voice wagon walk wall walnut warm wash water wave wax way week west wheat wheel white wide wild willow
wind window wing winter wise wolf wood wool word world wren yard year yellow young
`)

// spoken are the vocabulary's tokens: the word alone, and with the blank that stands before it inside an answer.
var spoken = func() (ids [2][]uint32) {
	for _, word := range vocabulary {
		ids[0] = append(ids[0], tokenID(word))
		ids[1] = append(ids[1], tokenID(" "+word))
	}
	return ids
}()

// answer is the text that a request is answered with: a function of the seed and the prompt alone, as a real model's is at temperature 0.
type answer struct{ seed uint64 }

func answerOf(seed int64, prompt []uint32) answer {
	h := mix(uint64(seed))
	for _, t := range prompt {
		h = mix(h ^ uint64(t))
	}
	return answer{seed: h}
}

func (a answer) word(i int) int { return int(mix(a.seed+uint64(i)) % uint64(len(vocabulary))) }

// token is the i-th token of the answer. The first of a section has no blank before it.
func (a answer) token(i int, first bool) uint32 {
	if first {
		return spoken[0][a.word(i)]
	}
	return spoken[1][a.word(i)]
}

// appendText appends tokens from to to of the answer.
func (a answer) appendText(dst []byte, from, to int, first bool) []byte {
	for i := from; i < to; i++ {
		if !first {
			dst = append(dst, ' ')
		}
		first = false
		dst = append(dst, vocabulary[a.word(i)]...)
	}
	return dst
}
