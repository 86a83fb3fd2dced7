package pipeline

import (
	"bufio"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sweetspot/pipeline/results"
)

// seeds are how many times a test of this kind is made: few, unless SWEETSPOT_SEEDS says how many.
func seeds(t *testing.T, few uint64) uint64 {
	t.Helper()
	text := os.Getenv("SWEETSPOT_SEEDS")
	if text == "" {
		return few
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatalf("SWEETSPOT_SEEDS: %v", err)
	}
	return n
}

// moment is when a process is killed: at the n-th change of its files; never where n is 0. A write is a change where each counts, else a file that is made,
// closed, named or removed: a process writes more often than it does all else.
type moment struct {
	n     int
	write bool
}

// watched calls reached when the moment has come for some folders. It goes on until it is stopped.
func watched(t *testing.T, at moment, reached func(), folders ...string) (stop func()) {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	events := os.NewFile(uintptr(fd), "inotify")
	changes := uint32(unix.IN_CREATE | unix.IN_CLOSE_WRITE | unix.IN_MOVED_TO | unix.IN_DELETE)
	if at.write {
		changes |= unix.IN_MODIFY
	}
	for _, folder := range folders {
		if _, err := unix.InotifyAddWatch(fd, folder, changes); err != nil {
			t.Fatal(err)
		}
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		buffer := make([]byte, unix.SizeofInotifyEvent+unix.NAME_MAX+1) // of one event at least
		for {
			size, err := events.Read(buffer)
			if err != nil {
				return
			}
			for from := 0; from < size; {
				if at.n--; at.n == 0 {
					reached()
				}
				const lengthAt = 12 // of the name behind the event
				from += unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(buffer[from+lengthAt:]))
			}
		}
	}()
	return func() {
		events.Close()
		<-stopped
	}
}

// carriedOnAndKilled lets a process carry a run on and kills it. It gives the measurements that the process said are stored.
func carriedOnAndKilled(t *testing.T, dir string, at moment) (said []string, ended bool) {
	t.Helper()
	command := again(t, "carry on", filepath.Dir(dir))
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	folders := []string{dir}
	for _, folder := range []string{"requests", "points", "trials", "partial"} {
		folders = append(folders, filepath.Join(dir, folder))
	}
	started := make(chan *os.Process, 1)
	stop := watched(t, at, func() { (<-started).Kill() }, folders...)
	defer stop()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	started <- command.Process
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		said = append(said, lines.Text())
	}
	command.Wait()
	ended = slices.Contains(said, "ended")
	return slices.DeleteFunc(said, func(line string) bool { return line == "ended" }), ended
}

// A process that is killed again and again, wherever it is, loses nothing that it said is stored, nothing of what it left is read as whole that is not, and check
// says so. In the end every measurement was stored once.
func TestAProcessThatIsKilledAnywhere(t *testing.T) {
	for seed := range seeds(t, 2) {
		random := rand.New(rand.NewPCG(seed, 11))
		_, run := begin(t, chat(), filepath.Join(t.TempDir(), "store"))
		run.Close()
		var said []string
		for kill := range 3 {
			const most = 120 // changes: nearly all of a run, or the writes of its first measurement
			more, ended := carriedOnAndKilled(t, run.Dir(), moment{1 + random.IntN(most), kill == 2})
			said = append(said, more...)
			checkKilledAnywhere(t, seed, run.Dir(), said)
			if ended {
				break
			}
		}
		if more, ended := carriedOnAndKilled(t, run.Dir(), moment{}); !ended {
			t.Fatalf("seed %d: not killed, it did not end: %v", seed, more)
		}
		found, err := Check(run.Dir())
		if err != nil || !found.Whole || len(found.LeftOver) > 0 || len(found.ToMeasure) > 0 || found.Status != results.Completed || found.Tables[0].Files != 8 {
			t.Errorf("seed %d: in the end %+v, %v", seed, found, err)
		}
	}
}

// checkKilledAnywhere looks at what a kill left: said are the measurements that are stored.
func checkKilledAnywhere(t *testing.T, seed uint64, dir string, said []string) {
	t.Helper()
	found, err := Check(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range found.Broken {
		if !strings.Contains(b.Why, "the process ended between the two files") {
			t.Errorf("seed %d: %s: %s", seed, b.File, b.Why)
		}
	}
	run, err := results.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	done, broken := run.Completed()
	for _, err := range broken {
		t.Errorf("seed %d: %v", seed, err)
	}
	var whole []string
	for _, row := range done {
		whole = append(whole, results.MeasurementOf(row.Keys).String())
	}
	for _, name := range said {
		if !slices.Contains(whole, name) {
			t.Errorf("seed %d: %s was stored, and is not there: %v", seed, name, whole)
		}
	}
	if len(found.ToMeasure)+len(whole) != 8 {
		t.Errorf("seed %d: %d measurements are to be made and %d are there, of 8", seed, len(found.ToMeasure), len(whole))
	}
}
