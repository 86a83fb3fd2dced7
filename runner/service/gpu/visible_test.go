package gpu

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What nvidia-smi -L writes, as NVIDIA's MIG user guide shows it: the last form of an id of a part is that of drivers before 470.
const (
	listedTwo = "GPU 0: NVIDIA H200 (UUID: GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77)\nGPU 1: NVIDIA H200 (UUID: GPU-5e8c1f1a-aaaa-2b2c-524d-9e3d8d2b8a77)\n"
	listedOne = "GPU 0: NVIDIA H200 (UUID: GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77)\n"
	listedMIG = `GPU 0: A100-SXM4-40GB (UUID: GPU-e86cb44c-6756-fd30-cd4a-1e6da3caf9b0)
  MIG 3g.20gb     Device  0: (UUID: MIG-c7384736-a75d-5afc-978f-d2f1294409fd)
  MIG 3g.20gb     Device  1: (UUID: MIG-a28ad590-3fda-56dd-84fc-0a0b96edc58d)
GPU 1: A100-SXM4-40GB (UUID: GPU-48aeb943-9458-4282-da24-e5f49e0db44b)
`
	listedOldMIG = `GPU 0: A100-SXM4-40GB (UUID: GPU-b8ea3855-276c-c9cb-b366-c6fa655957c5)
  MIG 1g.5gb Device 0: (UUID: MIG-GPU-b8ea3855-276c-c9cb-b366-c6fa655957c5/7/0)
`
	listedMixed = "GPU 0: Tesla T4 (UUID: GPU-11111111-0000-0000-0000-000000000000)\nGPU 1: NVIDIA H200 (UUID: GPU-22222222-0000-0000-0000-000000000000)\n"
)

// environment is one whose variables are NAME=VALUE.
func environment(variables ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, v := range variables {
			if value, is := strings.CutPrefix(v, name+"="); is {
				return value, true
			}
		}
		return "", false
	}
}

func TestWhatAServiceCanSee(t *testing.T) {
	const h200, a100 = "NVIDIA H200", "A100-SXM4-40GB"
	for _, c := range []struct {
		name, listed string
		environ      []string
		want         Visible
		err          string
	}{
		{"the only one", listedOne, nil, Visible{h200, 1, []int64{0}, true}, ""},
		{"two, none named", listedTwo, nil, Visible{h200, 2, []int64{0, 1}, false}, ""},
		{"a number", listedTwo, []string{"CUDA_VISIBLE_DEVICES=1"}, Visible{h200, 1, []int64{1}, true}, ""},
		{"numbers and blanks", listedTwo, []string{"CUDA_VISIBLE_DEVICES=1, 0"}, Visible{h200, 2, []int64{1, 0}, true}, ""},
		{"the first that is none ends it", listedTwo, []string{"CUDA_VISIBLE_DEVICES=1,-1,0"}, Visible{h200, 1, []int64{1}, true}, ""},
		{"beyond the last", listedTwo, []string{"CUDA_VISIBLE_DEVICES=0,2"}, Visible{h200, 1, []int64{0}, true}, ""},
		{"empty", listedTwo, []string{"CUDA_VISIBLE_DEVICES="}, Visible{}, ErrUnseen.Error()},
		{"a word for none", listedTwo, []string{"CUDA_VISIBLE_DEVICES=NoDevFiles"}, Visible{}, ErrUnseen.Error()},
		{"an id", listedTwo, []string{"CUDA_VISIBLE_DEVICES=GPU-5e8c1f1a-aaaa-2b2c-524d-9e3d8d2b8a77"}, Visible{h200, 1, []int64{1}, true}, ""},
		{"the beginning of an id", listedTwo, []string{"CUDA_VISIBLE_DEVICES=GPU-5d"}, Visible{h200, 1, []int64{0}, true}, ""},
		{"that of two", listedTwo, []string{"CUDA_VISIBLE_DEVICES=GPU-5"}, Visible{}, ErrUnseen.Error()},
		{"one twice", listedTwo, []string{"CUDA_VISIBLE_DEVICES=0,GPU-5d"}, Visible{}, "names GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77 twice"},
		{"a part", listedMIG, []string{"CUDA_VISIBLE_DEVICES=MIG-a28ad590-3fda-56dd-84fc-0a0b96edc58d"}, Visible{a100 + " MIG 3g.20gb", 1, nil, true}, ""},
		{"parts", listedMIG, []string{"CUDA_VISIBLE_DEVICES=MIG-c7,MIG-a2"}, Visible{a100 + " MIG 3g.20gb", 2, nil, true}, ""},
		{"the old id of a part", listedOldMIG, []string{"CUDA_VISIBLE_DEVICES=MIG-GPU-b8ea3855-276c-c9cb-b366-c6fa655957c5/7/0"}, Visible{a100 + " MIG 1g.5gb", 1, nil, true}, ""},
		{"the only part", listedOldMIG, nil, Visible{a100 + " MIG 1g.5gb", 1, nil, true}, ""},
		{"a whole beside parts", listedMIG, []string{"CUDA_VISIBLE_DEVICES=GPU-48aeb943-9458-4282-da24-e5f49e0db44b"}, Visible{a100, 1, []int64{1}, true}, ""},
		{"a whole that is divided", listedMIG, []string{"CUDA_VISIBLE_DEVICES=GPU-e86cb44c"}, Visible{}, ErrUnseen.Error()},
		{"a number beside parts", listedMIG, []string{"CUDA_VISIBLE_DEVICES=0"}, Visible{}, "only ids say which part is meant"},
		{"parts and a whole, none named", listedMIG, nil, Visible{}, "they are of several kinds"},
		{"a number among several kinds", listedMixed, []string{"CUDA_VISIBLE_DEVICES=0"}, Visible{}, "only with CUDA_DEVICE_ORDER=PCI_BUS_ID"},
		{"in nvidia-smi's order", listedMixed, []string{"CUDA_VISIBLE_DEVICES=1", "CUDA_DEVICE_ORDER=PCI_BUS_ID"}, Visible{h200, 1, []int64{1}, true}, ""},
		{"several kinds", listedMixed, nil, Visible{}, "they are of several kinds, Tesla T4 and NVIDIA H200"},
		{"no list", "No devices found.\n", nil, Visible{}, `it says "No devices found."`},
		{"nothing", "", nil, Visible{}, "it shows none"},
	} {
		standIn(t, "cat <<'END'\n"+c.listed+"END\n")
		got, err := See(t.Context(), environment(c.environ...))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, diff)
		}
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.err)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := See(t.Context(), environment()); !errors.Is(err, ErrNone) {
		t.Errorf("without nvidia-smi: error %v", err)
	}
}

// Whatever nvidia-smi and an environment say, what is seen is on the list, once, and of one kind.
func FuzzSee(f *testing.F) {
	for _, listed := range []string{listedOne, listedTwo, listedMIG, listedOldMIG, listedMixed} {
		f.Add(listed, "0,1")
		f.Add(listed, "GPU-5,MIG-c7")
	}
	f.Fuzz(func(t *testing.T, listed, named string) {
		all, err := parseList(listed)
		if err != nil {
			return
		}
		chosen, err := choose(all, named, "")
		if err != nil {
			return
		}
		seen, err := visible(chosen, true)
		if err == nil && (seen.Count < 1 || seen.Count > int64(len(all)) || int64(len(seen.Devices)) > seen.Count) {
			t.Errorf("%q with %q: %+v", listed, named, seen)
		}
	})
}
