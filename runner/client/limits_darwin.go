package client

import "golang.org/x/sys/unix"

const portSetting = "sysctl net.inet.ip.portrange.first"

// localPorts is how many local ports connections to one address can use, 0 where that is not known.
func localPorts() int64 {
	first, err := unix.SysctlUint32("net.inet.ip.portrange.first")
	if err != nil {
		return 0
	}
	last, err := unix.SysctlUint32("net.inet.ip.portrange.last")
	if err != nil {
		return 0
	}
	return int64(last) - int64(first) + 1
}
