package schema

// closedLoop are the fields of a load that say how a closed loop is kept full, and mean nothing, or something else, where sessions start by the clock.
var closedLoop = []string{"concurrency", "requests_per_slot", "search"}

// byClock are the fields that start sessions by the clock, each with what else of a load goes with the other one alone.
var byClock = map[string][]string{
	"request_rate": {"replay_speed"},
	"replay_speed": {"request_rate", "arrivals", "burstiness", "ramp_up", "min_requests"},
}

// replaceLoop takes out of a preset's load how it is driven, where it is to be driven by the clock in another way than the preset has it. It comes before
// overrides are made, so that a cap that is given beside the rate is its limit, as one is that the preset itself has beside a rate.
func replaceLoop(load *node, o override) {
	if load == nil || len(o.path) != 2 || o.path[0] != "load" || o.value.kind == null {
		return
	}
	others, given := byClock[o.path[1]]
	if !given || load.get(o.path[1]) != nil {
		return
	}
	if load.get("request_rate") == nil && load.get("replay_speed") == nil {
		for _, name := range closedLoop {
			load.remove(name)
		}
	}
	for _, name := range others {
		load.remove(name)
	}
}

// amounts are the fields of a load that say how much is measured, each with those whose place it takes.
var amounts = map[string][]string{
	"requests":          {"requests_per_slot", "min_requests", "duration"},
	"requests_per_slot": {"requests", "duration"},
	"min_requests":      {"requests", "duration"},
	"duration":          {"requests", "requests_per_slot", "min_requests", "max_duration"},
	"max_duration":      {"duration"},
}

// replaceAmount takes out of a preset's load how much is measured, where that is given in another way. It comes before overrides are made, so that two of them that
// exclude each other are told.
func replaceAmount(load *node, o override) {
	if load == nil || len(o.path) != 2 || o.path[0] != "load" || o.value.kind == null {
		return
	}
	for _, name := range amounts[o.path[1]] {
		load.remove(name)
	}
}
