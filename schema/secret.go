package schema

import (
	"slices"
	"strings"
)

// secretFields are those whose values are never repeated in a message: a key may have been pasted there.
var secretFields = []string{"url", "replicas", "api_key_env", "headers", "extra_body"}

func secret(p path) bool {
	for _, name := range p {
		for part := range strings.SplitSeq(name, ".") { // a path of the matrix is one name
			if slices.Contains(secretFields, part) {
				return true
			}
		}
	}
	return false
}

// shown is a value as a message may repeat it.
func shown(p path, value string) string {
	if secret(p) {
		return "the value"
	}
	return shorten(value)
}
