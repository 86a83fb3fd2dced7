package client

import (
	"fmt"
	"os"
)

const portSetting = "sysctl net.ipv4.ip_local_port_range"

// localPorts is how many local ports connections to one address can use, 0 where that is not known.
func localPorts() int64 {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0
	}
	var first, last int64
	if _, err := fmt.Sscan(string(text), &first, &last); err != nil {
		return 0
	}
	return last - first + 1
}
