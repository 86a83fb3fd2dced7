package schema

// MinSamples is how many values a statistic needs to be defined: "mean", "min" and "max" 1, "std" 2, and a percentile such as "p99" the least n
// for which n*(100-p) >= 100. It is 0 for a name that is none of these.
func MinSamples(stat string) int64 {
	switch stat {
	case "mean", "min", "max":
		return 1
	case "std", "p50":
		return 2
	case "p90":
		return 10
	case "p95":
		return 20
	case "p99":
		return 100
	}
	return 0
}
