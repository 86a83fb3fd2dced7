package bench

import (
	"fmt"
	"os"
	"strings"
)

// memory is what the process has in memory, in bytes, from a field of /proc/self/status (VmRSS, or VmHWM for the peak); nil where there is no
// such file.
func memory(field string) *int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			var kib int64
			if _, err := fmt.Sscan(rest, &kib); err != nil {
				return nil
			}
			bytes := kib << 10
			return &bytes
		}
	}
	return nil
}
