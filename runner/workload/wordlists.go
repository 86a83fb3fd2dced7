package workload

import "strings"

// plainWords are the words of random prompts: short, common, harmless, and safe inside a JSON string. Their order is mixed, so that any first few
// of them are as good a sample as all. Changing the list changes every prompt.
var plainWords = strings.Fields(`
	island number matter lie live language country light doubt bear news boat match lake mouse find left cloud city captain minute have group friend
	feed ever floor cow capital music brush ground alarm include between contain count any five little detail clear miss neck duty
	dear health event last book dream meet depend bird less just after lead many field hair kind ahead nest nature body dig all father
	neat button chapter glad collect gray local advice master date drive clock letter album mark break build course desert child
	engine crowd mind breath fellow cake nice modern below knee mean board lion inside adult front novel east beauty mention age
	bright corn deep nine fruit cause note mistake few march broad like enough best noon bowl lamp join give else court fly near key
	about lemon calm across change mother cup chief home indeed mill enter car hang air herd butter church egg frame coal finish chair
	green head morning house bean effect face king job duck accept act jump gentle circle laugh ear famous case goat down lesson door
	half coast ask empty map might autumn early lady fight hall brother cut also need cook honest bag future equal grain farm gift
	bring honey cost along copper gate easy corner castle more keep finger name iron hour bar look flag forward fox lay guess boy feel
	guide family box cold glass hear holiday carry bill north human address fast branch joke charge move become full grass brown
	double begin doctor market low hat grand dog color far correct mountain curtain here new check nail coat meal black long main
	hundred feather border fire chicken least lose mile back company example every lot explain horse behind leave list ice chance
	blanket decide fresh art agree dance base next hand flower able measure animal love beat borrow earth busy around bridge judge
	help exact beach direct distance hold listen memory late answer make fear belong cool mouth journey daughter fill leg bit above
	clever cheese bread four expect add care idea happy brain baby learn card deer custom draw heavy height dust big clean fish divide
	member bottle line know dinner moment center bend level call man fact bed garden bottom current end again cross law desk hotel
	climb eat lunch month grow common hole inch moon arm happen hill evening choice ball narrow either forest machine free cry high
	cousin loud follow mirror kitchen asleep hard alone drink eye nose life kettle both needle favor middle night game close edge
	image cover fair fence lock food away catch large history meat leaf chain coffee daily eight money enjoy concert land dry figure
	heart fall bush girl much flour argue hope first bank day brick great method forget basket brave heat library float come fold
	before fine birth nation cloth better luck flat always camp amount dish form foot area never gold good candle bell flow limit
	apple drop fit balance cat arrive dress each bad allow buy farmer milk apart fork dark band film lift aside among guest dirt blue
	mud copy
`)

// nonceWords are the words that nonces are made of.
var nonceWords = strings.Fields(`
	ant arm bat bed bee bell bird boat bone box bus cab cake cap car card cave clay clock cloud coal coin cone cord cow cube cup dam
	deer desk dish doll door dove egg elm fan farm fire fish flag fog fork fox frog gem glove goat gold hill hive horn ice ink jam jar
	jug lamb lamp lane leaf lime lion log map mask milk mill moon moss mouse mud nest net nut oak oven owl ox pan path pear pie pig
	pin pine pipe pond pool ram ring road rock rod roof rope rose salt sand seal seed shoe silk snow soap sock stone sun tea tent tide
	tile tool toy tree urn vase vine wagon wall wax well wheel wing wolf wood wool yard
`)

// fillerWords bring a prompt to its exact length: words so common that even a small vocabulary has a token for each.
var fillerWords = strings.Fields(`
	key time day order line point name group path field call message list start end part
`)
