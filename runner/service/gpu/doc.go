// Package gpu watches the GPUs below a service: with nvidia-smi on this machine, or through a DCGM exporter elsewhere.
//
// A [Watcher] reads from its start until it is closed, and gives what it read during each measurement as [measure.GPUSample]; what follows from that is
// package measure's to say. It changes no setting of a GPU. Where there is nothing to read there is no watcher, and nothing is made up.
package gpu
