package workload

// storyBlock is one kind of note in the creative-writing prompt: a label and the sentences it may hold. In a sentence {slot} stands for one of
// the phrases of storyPhrases, {A} and {B} for two people of the part and {P} for a place.
type storyBlock struct {
	label     string
	sentences []string
}

// storyBlocks are the kinds of note, in the order in which each part begins with them.
var storyBlocks = []storyBlock{
	{"Setting", []string{
		"{P}, {town} {site}, {weather}; {sound} carries as far as {room}.",
		"{P} is {town} that lost {object} and found {object}; it lies {site}.",
		"Most of it happens in {room} of {P}, {town} where {custom}.",
		"{when}, {P} is {town} {weather}, and {custom}.",
		"From {room} you can see {P}, {site}, and hear {sound}.",
	}},
	{"Character", []string{
		"{A}, {job}, {habit} and wants {want}.",
		"{A} is {job} who fears {fear} and carries {object} everywhere.",
		"{A} came to {P} as {job}; by now {A} {habit} and hides {secret}.",
		"{A}, once {job}, looks after {object} for {B} and never mentions {secret}.",
		"Nobody in {P} trusts {A}, {job}, although {A} {habit} and only wants {want}.",
	}},
	{"Rule", []string{
		"{rule}, and {object} must change hands before {B} learns {secret}.",
		"{rule}; {A} may break this once, {when}, and pays for it with {object}.",
		"{rule}, even where {event}.",
		"{rule}, and whoever speaks of {fear} must do so in {room}.",
	}},
	{"Style", []string{
		"{style}; let {sound} return wherever {A} longs {want}.",
		"{style}, above all when {event}.",
		"{style}; {room} deserves a page of its own, {weather}.",
		"{style}, and describe {object} as {job} would.",
	}},
	{"Scene", []string{
		"{when}, {A} finds {object} in {room} and understands that {B} knows {secret}.",
		"{event}; {A} and {B} wait in {room} {weather}, and neither speaks of {fear}.",
		"{A} trades {object} for {object}, {site}, while {sound} grows louder.",
		"{B} asks {A} for {object}; {A} {habit} instead, and {when} they part in {room}.",
		"In {room}, {A} reads aloud about {secret} until {event}.",
		"{A} follows {B} to {room}, {site}, and sees {object} there.",
	}},
	{"Object", []string{
		"{object}, made by {job} in {P}, smells of rain and recalls the wish {want}.",
		"{object} turns up three times: in {room}, {site}, and last of all when {event}.",
		"{A} gave {B} {object} {weather}; it was worth more than {object}.",
	}},
	{"Memory", []string{
		"{A} remembers {room} {weather}, {sound}, and {job} who promised {want}.",
		"Long before {P}, {B} and {A} shared {object} and the fear of {fear}.",
		"As a child {A} believed that {custom}; {when} the truth came out, and with it {secret}.",
	}},
	{"Rumour", []string{
		"They say in {P} that {A} keeps {object} in {room} because of {secret}.",
		"{job} swears that {event}, {when}, and that {B} saw it all.",
		"It is whispered that {custom} ever since {A} lost {object}.",
	}},
	{"Dialogue", []string{
		"{A} and {B} quarrel about {object} in {room}, and say everything except {secret}.",
		"{B} answers each question of {A} with a story about {job} and {fear}.",
		"A long talk {site}, {weather}, in which {A} admits to wanting {want}.",
	}},
	{"Turn", []string{
		"{when} it appears that {B} is {job}, and that {event}.",
		"{object} proves to be false, and {A} has to choose: {want}, or {want}.",
		"{event}, so that {A} has to hide {object} in {room} from {B}.",
	}},
}

// storyPhrases are what the slots of storyBlocks stand for.
var storyPhrases = map[string][]string{
	"town": {
		"a harbour town", "a mill village", "a border town", "a market town", "a mining settlement", "a city of canals", "a railway junction",
		"a walled town", "a fishing port", "a spa town past its prime", "a town of glassmakers", "a hill village", "a river island",
		"a town of printers", "a garrison town", "a desert station", "a lighthouse colony", "a forest parish", "a ferry landing",
		"a town of bell founders", "a salt works", "a valley of orchards", "a university town", "a quarter of tanners", "a winter resort",
		"a town built twice", "a colony of weavers", "a cathedral city", "a whaling station", "a town of clockmakers", "a marsh village",
		"a quarry town",
	},
	"site": {
		"at the mouth of a slow river", "under a ridge of black pines", "between two lakes", "on the last bend of the coast road",
		"behind the old sea wall", "at the foot of a dead volcano", "where three railways meet", "above a gorge with no bridge",
		"on a plain without trees", "beside a drained canal", "below the snow line", "among flooded fields", "at the edge of the salt flats",
		"on an island that floods each spring", "under the flight path of geese", "along a wall nobody guards", "beyond the last street lamp",
		"between the barracks and the sea", "inside the ring of an old fort", "at the end of a private line", "near the spring that never freezes",
		"on the north bank", "where the road turns to sand", "beneath a leaning tower", "across from the empty hospital",
		"in the shadow of the dam", "past the third milestone", "over the tunnel", "among the beehives", "by the toll house",
		"on the slope that faces away from the sun", "downstream of the dye works",
	},
	"weather": {
		"under a low white sky", "in the first week of frost", "while fog fills the streets", "in a dry heat that cracks the paint",
		"after a month of rain", "with snow to the window sills", "in the yellow light before a storm", "while the wind blows from the east",
		"in a spring that comes too early", "during the long thaw", "at the hottest hour", "in drizzle as fine as flour",
		"with the river at the doorsteps", "under more stars than anyone has names for", "in the grey of a late dawn",
		"while hail drums on the roofs", "in a mild and treacherous winter", "with dust in every cup", "as the leaves come down at once",
		"in the calm between two gales", "with ice along the ropes", "in a summer without birds", "under a moon two days short of full",
		"while the swallows gather", "in a light like weak tea", "as thunder walks around the hills", "with the shutters closed at noon",
		"on the shortest day", "in the smoke of distant fires", "while mist climbs out of the wells", "in a week of false spring",
		"with the tide unusually low",
	},
	"sound": {
		"the saw of the boatyard", "a piano with two dead keys", "the bell that is always late", "a dog that barks at trains",
		"the hum of the substation", "a choir at practice", "the knock of loose shutters", "a radio in another language",
		"the drip of the cistern", "the cough of an old engine", "a kettle nobody takes off", "geese going over", "the scrape of a plough",
		"a hammer on slate", "the murmur of the weir", "a door that will not stay shut", "the whistle of the night guard",
		"children counting to a hundred", "an accordion out of tune", "the tick of cooling iron", "a cart on cobbles",
		"the rattle of dice", "the sigh of the bellows", "someone sweeping broken glass", "the foghorn", "the click of knitting needles",
		"a lift that stops at every floor", "frogs in the reservoir", "the flap of wet sheets", "a typewriter upstairs",
		"rain in a zinc gutter", "the market crier",
	},
	"room": {
		"the back room of the bakery", "an attic full of maps", "the signal box", "the room above the chemist", "the cellar with the second door",
		"the reading room", "a kitchen with one chair", "the organ loft", "a greenhouse with half its panes", "the waiting room",
		"the pump house", "a cabin on blocks", "the archive of the water board", "the laundry", "the captain's old office",
		"a stable turned workshop", "the gallery of the town hall", "the vestry", "an empty swimming bath", "the telephone exchange",
		"the ice store", "a sleeping car without wheels", "the puppet theatre", "the winter garden", "the schoolroom", "a tower of five steps",
		"the counting house", "the ward for the deaf", "the room of lost luggage", "the boiler room", "a balcony over the fish market",
		"the tailor's fitting room",
	},
	"custom": {
		"every clock is set seven minutes slow", "nobody buys bread on a Tuesday", "letters are read out in the square",
		"the dead are listed by trade", "strangers are asked to light the first lamp", "doors are painted by the neighbours",
		"a bell is rung for each lost dog", "debts are paid in firewood", "no house has the number nine", "children choose their second name",
		"the ferry waits for those in mourning", "salt is thrown before a journey", "the mayor is drawn by lot",
		"songs are forbidden below the bridge", "every wedding needs a witness from the hills", "the poor are given the front seats",
		"mirrors are covered on market days", "the river is greeted aloud", "old tools are buried with honours",
		"nobody whistles after dark", "bets are settled by rowing", "the first snow is a holiday", "the oldest tree has a vote",
		"a chair is kept free at each table", "secrets are told to the bees", "the tax is counted in eggs", "ships are named after teachers",
		"guests must bring a stone", "apologies are written on slate", "lamps burn for those at sea", "the well is locked at noon",
		"each street has its own flag",
	},
	"job": {
		"a retired lock keeper", "a mapmaker of drowned villages", "a night nurse", "the last telegraph clerk", "a forger of stamps",
		"a piano tuner", "a judge without a court", "a beekeeper", "a translator of contracts", "a diver for the harbour board",
		"an actor between plays", "a maker of glass eyes", "a smuggler of seeds", "a schoolteacher on leave", "a bookbinder", "a ferry pilot",
		"an apprentice baker", "a surveyor of roads", "a widow who lends money", "a repairer of umbrellas", "a priest who has lost his parish",
		"an inspector of wells", "a cook on a dredger", "a gardener of the railway", "a dealer in clocks", "a chess player", "a deaf watchman",
		"an engineer of bridges", "a painter of signs", "a collector of tolls", "a court stenographer", "a midwife", "a juggler with one arm",
		"a seller of ice", "a botanist in exile", "a copyist of music",
	},
	"habit": {
		"counts the stairs of every house", "answers letters meant for others", "walks the sea wall before dawn", "never finishes a meal",
		"speaks to horses and to no one else", "keeps the receipts of thirty years", "sleeps in a chair by the door", "mends what is not broken",
		"draws the same window each day", "lies about small things only", "hums when afraid", "collects the keys of houses now gone",
		"forgets faces but not hands", "bets on the weather", "reads the last page first", "writes names on the undersides of tables",
		"feeds the fox behind the mill", "wears a dead man's coat", "buys two tickets and uses one", "sets a clock wrong in each house",
		"learns a new word every evening", "waters a garden that is not theirs", "washes coins", "listens at the pipes",
		"whittles boats and burns them", "returns borrowed books unread", "asks everyone for the time", "carries bread to the bridge",
		"never sits with the back to a mirror", "salutes the mail train", "remembers each price ever paid", "paints over old letters",
	},
	"want": {
		"to be forgiven by a brother who never writes", "to hear the end of a story told in childhood", "to own one door and its key",
		"to win back the mill", "to be buried at sea", "to learn who paid the debt", "to sing once in the great hall", "to cross the border openly",
		"to finish the map", "to give the child a name", "to sell the house to a friend", "to prove the judge wrong", "to see the valley dry again",
		"to find the author of the letters", "to be somebody's witness", "to leave without saying goodbye", "to make one perfect bell",
		"to return what was stolen", "to stop the sale of the island", "to know what the telegram said", "to teach one pupil well",
		"to keep the lamp burning until spring", "to repay an insult kindly", "to sit again at the long table", "to be mistaken for nobody",
		"to open the sealed carriage", "to be believed by one person", "to plant the avenue anew", "to hear the sea from bed",
		"to be called by the old name", "to save the orchard from the road", "to burn the ledger",
	},
	"fear": {
		"deep water", "the sound of a key turning", "being recognised at the station", "a certain blue envelope", "the smell of varnish",
		"growing like the grandfather", "the hour after supper", "an unlocked gate", "owing anything to the bank", "the second flood",
		"losing the good eye", "a name read from a list", "horses without riders", "the quiet of the works on Sundays", "the surgeon's son",
		"any room without a window", "a knock in threes", "the winter of the blockade", "the photograph in the hall", "falling asleep on trains",
		"an inheritance", "the man with the lantern", "forgetting the language", "the hospital stairs", "a wedding in May", "ice that sings",
		"the last page of the diary", "their own handwriting", "the owner of the quarry", "a kindness that must be returned",
		"the drowned road", "the empty chair",
	},
	"secret": {
		"the second will", "a marriage in another country", "who set the granary on fire", "the true owner of the ferry",
		"a child brought up by strangers", "the price paid for the silence of the clerk", "where the silver was sunk",
		"an exam taken under a false name", "the letter that was never posted", "what the diver saw", "a debt older than the town",
		"the reason for the closed bridge", "the fault in the dam", "a promise made to an enemy", "the name under the paint",
		"a day missing from the logbook", "the bargain with the railway", "an escape that succeeded", "whose grave it really is",
		"the recipe sold twice", "what the blind man was told", "the poison in the well", "a vote that was bought", "the twin who stayed behind",
		"the map with the wrong coast", "an early release from prison", "the hand that signed", "the other key", "the night of the two trains",
		"a book written by someone else", "the betrayal at the sluice", "the meaning of the fourth bell",
	},
	"object": {
		"a tin box of buttons", "a brass compass", "an unsigned painting", "a coat with a torn lining", "a jar of black sand",
		"a ledger in green ink", "a cracked violin", "a bundle of foreign coins", "a key without teeth", "a wooden bird", "a child's left shoe",
		"a railway lamp", "a chess king", "a bottle of river water", "a pair of opera glasses", "a ring too small for anyone",
		"a clock without hands", "a box of glass slides", "a torn ticket", "a letter in cipher", "a silver spoon", "a sack of seed corn",
		"a map on silk", "a knife with a bone handle", "a globe with a missing sea", "a red umbrella", "a broken seal", "a spool of copper wire",
		"a basket of quinces", "a hymn book", "a lantern slide of the old bridge", "a bell clapper", "a stuffed heron", "a bag of marbles",
		"a telescope", "a music box",
	},
	"rule": {
		"No chapter may end with a departure", "Nobody dies on the page", "Every lie must cost the liar something",
		"The narrator never says what anyone feels", "Each scene contains one thing that is too heavy to carry",
		"Money is always named exactly", "The sea may be heard but not described", "No two people leave a room together",
		"Every meal is interrupted", "Nothing is explained before it has gone wrong", "A promise is made in each chapter",
		"The weather never agrees with the mood", "Letters are quoted in full", "Animals are given names and people titles",
		"Whoever asks a question answers the next one", "No coincidence helps anyone", "The oldest person speaks last",
		"Each place is entered by a different door", "Dreams are not told", "A debt is paid in every third scene",
		"No one is described twice in the same way", "The past is told in the present tense", "Violence happens in the next room",
		"Each secret is known to two people", "The bell rings once in each chapter", "Every journey takes longer than planned",
		"Children are never fooled", "Nobody is alone for more than a page", "Work is shown in full detail", "Good news arrives by mistake",
		"Every gift is returned", "A stranger sees what friends miss",
	},
	"style": {
		"Write long sentences for water and short ones for people", "Keep the humour dry", "Prefer verbs to adjectives",
		"Use the vocabulary of work", "Let paragraphs begin in the middle of things", "Name colours only by comparison",
		"Stay close to hands and tools", "Tell it slowly and without irony", "Keep dialogue plain and unfinished",
		"Alternate between two points of view", "Describe sounds before sights", "Allow digressions and come back from them late",
		"Use no exclamation marks", "Let one image return in changed form", "Keep the time of day clear", "Write as if to a friend abroad",
		"Trust the reader with gaps", "Make every list uneven", "Let the narrator be wrong at times", "Keep similes homely",
		"Give each room its own rhythm", "Use the names of plants with care", "Let silence do half the talking", "Avoid the word suddenly",
		"Mix gossip with record", "Let the chapters overlap", "Report quarrels calmly", "Treat machines like animals",
		"Keep the tone of a good neighbour", "Use weather sparingly", "Write rooms from the floor up", "Leave the best line to a minor figure",
	},
	"when": {
		"on the eve of the fair", "three days after the funeral", "before the morning ferry", "in the week of the elections",
		"at the hour when lamps are lit", "on the night of the census", "late in the harvest", "during the interval",
		"on the first Sunday of Lent", "when the mail comes in", "between two trains", "just after the verdict", "at the end of the shift",
		"on the anniversary of the flood", "while the town is at church", "in the pause between courses", "on the last day of the lease",
		"ten years later", "an hour too early", "on the coldest night", "as the fair packs up", "at low tide", "while the jury sleeps",
		"on payday", "in the middle of a toast", "at the change of the guard", "on the way back from the border", "after the third bell",
		"during the power cut", "before anyone is awake", "the day the bridge reopens", "at the reading of the will",
	},
	"event": {
		"the river changes its course", "a ship arrives without a crew", "the bank closes its doors", "somebody steals the bell",
		"the wrong man is welcomed home", "an old play is put on again", "the dam begins to leak", "a circus winters in the square",
		"the post is delivered twenty years late", "every window on one street is broken", "two weddings are held on one day",
		"the well turns sweet", "a train stops where there is no station", "the census finds one person too many",
		"a stranger pays all debts", "the school burns down", "the statue is taken away at night", "a language is forbidden",
		"the ferry runs aground", "the harvest is sold before it is cut", "a body of water is put up for auction",
		"the doctor leaves without luggage", "the frost kills the vines", "a wall is found inside a wall", "the mayor resigns by telegram",
		"the lighthouse goes dark", "a dog inherits a house", "the map and the land disagree", "an orchestra is snowed in",
		"the gates are left open", "a child wins the lottery", "the last witness begins to talk",
	},
}

// storyFirst, storyLast and storyPlaces name the people and places.
var (
	storyFirst = []string{
		"Ada", "Anselm", "Beatrix", "Bruno", "Carla", "Casimir", "Dorothea", "Edgar", "Elena", "Emil", "Flora", "Gideon", "Greta", "Hanna",
		"Hector", "Ida", "Ignaz", "Irene", "Jakob", "Johanna", "Judith", "Kaspar", "Klara", "Leon", "Lidia", "Ludwig", "Magda", "Marek",
		"Martha", "Matthias", "Mira", "Nadia", "Nora", "Oskar", "Olga", "Otto", "Paula", "Pavel", "Petra", "Rafael", "Rosa", "Ruben",
		"Sabina", "Samuel", "Selma", "Simon", "Sofia", "Stefan", "Tamara", "Theodor", "Thea", "Tobias", "Ursula", "Valentin", "Vera",
		"Viktor", "Wanda", "Willem", "Xenia", "Yusuf", "Zelda", "Amara", "Darius", "Farah",
	}
	storyLast = []string{
		"Abbott", "Ashby", "Barlow", "Becker", "Birch", "Brandt", "Calder", "Carver", "Cole", "Darrow", "Dekker", "Ellis", "Falk", "Farrow",
		"Fenn", "Garland", "Grau", "Hale", "Harrow", "Heller", "Holm", "Ivers", "Jansen", "Karsh", "Keller", "Kline", "Lang", "Lorenz",
		"Marsh", "Mercer", "Moran", "Nagel", "Novak", "Oakes", "Okoro", "Orlov", "Pell", "Penrose", "Quill", "Rask", "Reyes", "Roth",
		"Sandoval", "Sayer", "Sharp", "Silva", "Stark", "Stone", "Tanaka", "Thorn", "Tull", "Vance", "Varga", "Voss", "Wade", "Weir",
		"Wolff", "Yates", "Zeller", "Zorn", "Haddad", "Lindqvist", "Moreau", "Petrov",
	}
	storyPlaces = []string{
		"Arnsted", "Bellhaven", "Brackwater", "Caldmoor", "Corven", "Dunmere", "Eastlock", "Elmsford", "Farrowgate", "Glasmark", "Greywick",
		"Halden", "Harrowell", "Ironbridge", "Karlsund", "Kestrel Bay", "Lowmarket", "Marrow Hill", "Millrace", "Northam", "Oldferry",
		"Pinmoor", "Quayside", "Ravensburn", "Redmill", "Saltholm", "Sankt Veit", "Silverton", "Stonegate", "Tarnow", "Thornby", "Tidewell",
		"Ulm Cross", "Vellmar", "Warden Point", "Westerlee", "Whitlow", "Winterbourne", "Yarrow", "Zellin",
	}
)
