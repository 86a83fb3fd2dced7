package simulator

// mix is one step of splitmix64: every seeded choice is a hash of what it is about, so choices do not depend on the order of requests.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unit is a hash of its arguments as a number in [0, 1).
func unit(seed int64, parts ...uint64) float64 {
	h := mix(uint64(seed))
	for _, p := range parts {
		h = mix(h ^ p)
	}
	return float64(h>>11) / (1 << 53)
}
