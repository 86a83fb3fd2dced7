package schema

import (
	"cmp"
	"net"
	"net/url"
	"strings"
)

// endpoint holds that the addresses of a service are those of one: each another, and with the same API.
func endpoint(spec *node, e *Endpoint) Problems {
	n := spec.at([]string{"service", "endpoint", "replicas"})
	if e == nil || n == nil {
		return nil
	}
	var problems Problems
	names := map[string]string{addressOf(e.URL): "url"}
	for i, replica := range e.Replicas {
		at, address := n.items[i].place, addressOf(replica)
		if name, twice := names[address]; twice {
			problems = append(problems, at.problem("is the address of "+name+" again, which would get twice the load: leave it out, or write another's"))
			continue
		}
		names[address] = "replicas" + indexed(i)
		if lastOf(replica) != lastOf(e.URL) {
			problems = append(problems, at.problem("ends otherwise than url: a replica has the same API, so the last part of its path, such as /v1, is the same too"))
		}
	}
	return problems
}

// addressOf is what two ways of writing an address have in common.
func addressOf(base string) string {
	at, err := url.Parse(base)
	if err != nil {
		return base
	}
	port := cmp.Or(at.Port(), map[string]string{"http": "80", "https": "443"}[at.Scheme])
	return net.JoinHostPort(strings.ToLower(at.Hostname()), port) + strings.TrimRight(at.Path, "/")
}

// lastOf is the last part of an address's path, such as "/v1".
func lastOf(base string) string {
	at, err := url.Parse(base)
	if err != nil {
		return base
	}
	whole := strings.TrimRight(at.Path, "/")
	return "/" + whole[strings.LastIndex(whole, "/")+1:]
}
