package measure

// ByURL counts the requests of the measured phase at each address of a service that has several, in the order of url_index. It is empty where the service
// has one.
type ByURL struct {
	URLIssued []int64 `json:"url_requests_issued" doc:"requests_issued at each address of the service, in the order of url_index; empty where it has one"`
	URLFailed []int64 `json:"url_requests_failed" doc:"failures at each address of the service, in the same order; empty where it has one"`
}

func byURL(records []Record, urls int) ByURL {
	if urls < 2 {
		return ByURL{}
	}
	counts := ByURL{make([]int64, urls), make([]int64, urls)}
	for i := range records {
		r := &records[i]
		if r.Phase != Measured || r.URLIndex == nil || *r.URLIndex >= int64(urls) {
			continue
		}
		counts.URLIssued[*r.URLIndex]++
		if r.Status.Failed() {
			counts.URLFailed[*r.URLIndex]++
		}
	}
	return counts
}
