package gpu

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Visible is what a process of this machine can see of its GPUs.
type Visible struct {
	Name    string  // kind of each
	Count   int64   // at least 1
	Devices []int64 // their numbers as nvidia-smi counts them; nil where they are parts of GPUs, which nvidia-smi does not watch
	Certain bool    // no others can be meant: the process's environment names them, or there is no other
}

// ErrUnseen is that a process's environment leaves it no GPU.
var ErrUnseen = errors.New("CUDA_VISIBLE_DEVICES leaves the service no GPU")

// See asks nvidia-smi which GPUs this machine has, and gives those that a process with an environment can see. An error is [ErrNone] or [ErrUnseen], or says
// why that is not known.
func See(ctx context.Context, lookupEnv func(string) (string, bool)) (Visible, error) {
	path, err := exec.LookPath(command)
	if err != nil {
		return Visible{}, ErrNone
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	listed := exec.CommandContext(ctx, path, "-L")
	listed.WaitDelay = time.Second
	text, err := listed.Output()
	if err != nil {
		return Visible{}, fmt.Errorf("asking nvidia-smi for the GPUs: %w", err)
	}
	all, err := parseList(string(text))
	if err != nil {
		return Visible{}, fmt.Errorf("asking nvidia-smi for the GPUs: %w", err)
	}
	named, set := lookupEnv("CUDA_VISIBLE_DEVICES")
	order, _ := lookupEnv("CUDA_DEVICE_ORDER")
	if !set {
		return visible(all, len(all) == 1)
	}
	chosen, err := choose(all, named, order)
	if err != nil {
		return Visible{}, err
	}
	return visible(chosen, true)
}

// device is a GPU, or a part of one (MIG).
type device struct {
	index int64 // of the GPU
	name  string
	uuid  string
	part  bool
	split bool // it has parts, and by itself serves no process
}

var (
	wholeLine = regexp.MustCompile(`^GPU ([0-9]+): (.+) \(UUID: (GPU-[^()]+)\)$`)
	partLine  = regexp.MustCompile(`^\s+MIG (\S+)\s+Device\s+[0-9]+: \(UUID: (MIG-[^()]+)\)$`)
)

// parseList reads what nvidia-smi -L writes: each GPU, and below one that is divided its parts.
func parseList(text string) ([]device, error) {
	var all []device
	whole := -1
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		if of := wholeLine.FindStringSubmatch(line); of != nil {
			index, err := strconv.ParseInt(of[1], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("reading the number of a GPU: %w", err)
			}
			whole = len(all)
			all = append(all, device{index: index, name: of[2], uuid: of[3]})
			continue
		}
		of := partLine.FindStringSubmatch(line)
		switch {
		case of != nil && whole >= 0:
			all[whole].split = true
			all = append(all, device{index: all[whole].index, name: all[whole].name + " MIG " + of[1], uuid: of[2], part: true})
		case line != "":
			return nil, fmt.Errorf("it says %q", firstLine(line))
		}
	}
	if len(all) == 0 {
		return nil, errors.New("it shows none")
	}
	return slices.DeleteFunc(all, func(d device) bool { return d.split }), nil
}

// choose gives what the value of CUDA_VISIBLE_DEVICES names, up to the first word that names nothing, as CUDA does.
func choose(all []device, named, order string) ([]device, error) {
	var chosen []device
	for word := range strings.SplitSeq(named, ",") {
		word = strings.TrimSpace(word)
		found, err := find(all, word, order)
		if err != nil {
			return nil, err
		}
		if found == nil {
			break
		}
		if slices.Contains(chosen, *found) {
			return nil, fmt.Errorf("CUDA_VISIBLE_DEVICES names %s twice", found.uuid)
		}
		chosen = append(chosen, *found)
	}
	if len(chosen) == 0 {
		return nil, ErrUnseen
	}
	return chosen, nil
}

// find gives what a word of CUDA_VISIBLE_DEVICES names: a number, an id, or the beginning of one. It is nil where that is nothing. Numbers are those of
// nvidia-smi only where CUDA counts as it does.
func find(all []device, word, order string) (*device, error) {
	if n, err := strconv.ParseInt(word, 10, 64); err == nil {
		kinds := slices.Clone(all)
		slices.SortFunc(kinds, func(a, b device) int { return strings.Compare(a.name, b.name) })
		switch {
		case slices.ContainsFunc(all, func(d device) bool { return d.part }):
			return nil, errors.New("CUDA_VISIBLE_DEVICES has numbers, and GPUs of this machine are divided (MIG): only ids say which part is meant")
		case kinds[0].name != kinds[len(kinds)-1].name && order != "PCI_BUS_ID":
			return nil, errors.New("CUDA_VISIBLE_DEVICES has numbers, and this machine has GPUs of several kinds: CUDA counts them as nvidia-smi does only with CUDA_DEVICE_ORDER=PCI_BUS_ID")
		}
		return only(all, func(d device) bool { return d.index == n }), nil
	}
	if !strings.HasPrefix(word, "GPU-") && !strings.HasPrefix(word, "MIG-") {
		return nil, nil
	}
	return only(all, func(d device) bool { return strings.HasPrefix(d.uuid, word) }), nil
}

// only is the one device of which is says yes; nil where there is none or several.
func only(all []device, is func(device) bool) *device {
	i := slices.IndexFunc(all, is)
	if i < 0 || slices.ContainsFunc(all[i+1:], is) {
		return nil
	}
	return &all[i]
}

func visible(seen []device, certain bool) (Visible, error) {
	v := Visible{Name: seen[0].name, Count: int64(len(seen)), Certain: certain}
	for _, d := range seen {
		if d.name != v.Name {
			return Visible{}, fmt.Errorf("they are of several kinds, %s and %s", v.Name, d.name)
		}
		if !d.part {
			v.Devices = append(v.Devices, d.index)
		}
	}
	return v, nil
}
