package schema

import "slices"

// secretFields are those whose values are never repeated in a message: a key may have been pasted there.
var secretFields = []string{"url", "api_key_env", "headers", "extra_body"}

func secret(p path) bool {
	return slices.ContainsFunc(p, func(name string) bool { return slices.Contains(secretFields, name) })
}

// shown is a value as a message may repeat it.
func shown(p path, value string) string {
	if secret(p) {
		return "the value"
	}
	return shorten(value)
}
