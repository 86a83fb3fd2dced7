package results

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sweetspot/runner/clock"
	"sweetspot/runner/measure"
)

// stream writes requests to the stream of a measurement in batches of the given sizes, and leaves it as a kill does.
func stream(t *testing.T, w *Writer, keys measure.Keys, batches ...int64) {
	t.Helper()
	s, err := w.Stream(keys, func() clock.Instant { return 2e9 })
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range batches {
		for _, record := range records(n) {
			s.Add(record)
		}
		s.mu.Lock()
		batch := s.waiting
		s.waiting = nil
		s.mu.Unlock()
		if err := s.write(batch); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAStreamTornAtAnyByteGivesItsWholeBatches(t *testing.T) {
	if testing.Short() {
		t.Skip("computed by one goroutine for long")
	}
	w := newRun(t)
	m := Measurement{pointA, 0, 0}
	stream(t, w, keys(w.Run, pointA, 0, 0), 2, 3, 1)
	whole, err := os.ReadFile(w.path(m.file(partial, streamEnding)))
	if err != nil {
		t.Fatal(err)
	}
	all, err := untorn(whole)
	if err != nil || len(all) != 6 {
		t.Fatalf("%d rows of 6, %v", len(all), err)
	}
	before := 0
	for length := range len(whole) {
		rows, err := untorn(whole[:length])
		if err != nil || !slices.Contains([]int{0, 2, 5, 6}, len(rows)) || len(rows) < before {
			t.Fatalf("%d of %d bytes give %d rows after %d before, and error %v", length, len(whole), len(rows), before, err)
		}
		if len(rows) == before {
			continue
		}
		if diff := cmp.Diff(all[:len(rows)], rows, sameRows); diff != "" {
			t.Fatal(diff)
		}
		before = len(rows)
	}
	if before != 6 {
		t.Errorf("without its last byte the stream gives %d rows of 6", before)
	}
}

// A crash of the machine can leave zeros or anything else where the last batches should be.
func TestAStreamWithADamagedTailGivesWhatIsBeforeIt(t *testing.T) {
	w := newRun(t)
	m, short := Measurement{pointA, 0, 0}, Measurement{pointB, 0, 0}
	stream(t, w, keys(w.Run, pointA, 0, 0), 2, 1)
	stream(t, w, keys(w.Run, pointB, 0, 0), 2)
	whole, err := os.ReadFile(w.path(m.file(partial, streamEnding)))
	if err != nil {
		t.Fatal(err)
	}
	head, err := os.Stat(w.path(short.file(partial, streamEnding)))
	if err != nil {
		t.Fatal(err)
	}
	const mark = 8 // bytes that end a whole stream
	first := int(head.Size()) - mark
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.IntRange(first, len(whole)).Draw(t, "from")
		tail := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 64), rapid.SliceOfN(rapid.Just(byte(0)), 0, 64)).Draw(t, "tail")
		rows, err := untorn(append(bytes.Clone(whole[:from]), tail...))
		if err != nil || len(rows) < 2 {
			t.Errorf("%d rows of 2, %v", len(rows), err)
		}
	})
}

// What is torn may ask for a terabyte.
func TestABatchThatClaimsTooMuchIsNotAllocated(t *testing.T) {
	w := newRun(t)
	stream(t, w, keys(w.Run, pointA, 0, 0), 2, 1)
	stream(t, w, keys(w.Run, pointB, 0, 0), 2)
	whole, err := os.ReadFile(w.path(Measurement{pointA, 0, 0}.file(partial, streamEnding)))
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(w.path(Measurement{pointB, 0, 0}.file(partial, streamEnding)))
	if err != nil {
		t.Fatal(err)
	}
	const mark, prefix = 8, 8 // the end of a stream; a continuation and the length of the metadata before each message
	batch := whole[len(before)-mark:]
	metadata := binary.LittleEndian.Uint32(batch[4:])
	body := binary.LittleEndian.AppendUint64(nil, uint64(len(batch)-prefix-int(metadata)-mark))
	at := bytes.Index(batch[:prefix+metadata], body)
	if at < 0 {
		t.Fatal("the length of the body does not stand where this test looks for it")
	}
	binary.LittleEndian.PutUint64(batch[at:], 1<<40)
	if rows, err := untorn(whole); err != nil || len(rows) != 2 {
		t.Errorf("%d rows of 2, %v", len(rows), err)
	}
}

func TestAStreamOfAnotherVersionIsRefused(t *testing.T) {
	l, err := layoutOf[measure.RequestRow](Requests, "0a1b2c3d")
	if err != nil {
		t.Fatal(err)
	}
	metadata := arrow.NewMetadata([]string{versionKey}, []string{"2"})
	var stream bytes.Buffer
	if err := ipc.NewWriter(&stream, ipc.WithSchema(arrow.NewSchema(l.schema.Fields(), &metadata))).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := untorn(stream.Bytes()); err == nil || !strings.Contains(err.Error(), "is version 2") {
		t.Errorf("error %v", err)
	}
}

func TestEndedRequestsAreOnDiskWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRun(t)
		c := clock.New()
		s, err := w.Stream(keys(w.Run, pointA, 0, 0), c.Now)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			record := records(1)[0]
			record.Index, record.Ended = int64(i), c.Now()
			s.Add(record)
			time.Sleep(600 * time.Millisecond)
		}
		synctest.Wait()
		run, err := Open(w.Dir())
		if err != nil {
			t.Fatal(err)
		}
		running, err := run.Partial()
		if diff := cmp.Diff([]Measurement{{pointA, 0, 0}}, running); diff != "" || err != nil {
			t.Error(diff, err)
		}
		if rows := gather(t, run.PartialRequests(Measurement{pointA, 0, 0})); len(rows) != 2 {
			t.Errorf("after 1.8 s %d requests are readable, want the 2 that ended before 1 s", len(rows))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if rows := gather(t, run.PartialRequests(Measurement{pointA, 0, 0})); len(rows) != 3 {
			t.Errorf("of a closed stream %d requests are readable, want 3", len(rows))
		}
		if got := s.Lag(); got != time.Second {
			t.Errorf("lag %v, want 1s", got)
		}
	})
}

func TestABurstIsWrittenBeforeTheSecondIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRun(t)
		s, err := w.Stream(keys(w.Run, pointA, 0, 0), clock.New().Now)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for range flushAt {
			s.Add(measure.Record{})
		}
		synctest.Wait()
		if rows := gather(t, w.PartialRequests(Measurement{pointA, 0, 0})); len(rows) != flushAt {
			t.Errorf("%d requests are readable, want %d", len(rows), flushAt)
		}
	})
}

func TestAStreamThatCannotKeepUpDropsAndSaysSo(t *testing.T) {
	s := &Stream{wake: make(chan struct{}, 1)}
	for range maxWaiting + 3 {
		s.Add(measure.Record{})
	}
	if s.Dropped() != 3 || len(s.waiting) != maxWaiting {
		t.Errorf("%d dropped and %d waiting", s.Dropped(), len(s.waiting))
	}
}

// slowDisk takes ten seconds for whatever is written to it.
type slowDisk struct{ io.Writer }

func (d slowDisk) Write(p []byte) (int, error) {
	time.Sleep(10 * time.Second)
	return d.Writer.Write(p)
}

// Whoever adds to a stream does not wait for the disk; how long this takes stands in the lag.
func TestASlowDiskStallsNobodyAndIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newRun(t)
		c := clock.New()
		s, err := w.Stream(keys(w.Run, pointA, 0, 0), c.Now)
		if err != nil {
			t.Fatal(err)
		}
		s.buffer.Reset(slowDisk{s.file})
		began := c.Now()
		for range 3 * flushAt {
			record := records(1)[0]
			record.Ended = c.Now()
			s.Add(record)
			synctest.Wait()
		}
		if took := c.Now().Sub(began); took != 0 {
			t.Errorf("adding took %v", took)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if got := s.Lag(); got < 20*time.Second || s.Dropped() != 0 {
			t.Errorf("lag %v and %d dropped, want two writes of 10 s one after the other and none", got, s.Dropped())
		}
		if rows := gather(t, w.PartialRequests(Measurement{pointA, 0, 0})); len(rows) != 3*flushAt {
			t.Errorf("%d requests are readable, want all", len(rows))
		}
	})
}

func TestAStreamThatCannotBeWrittenSaysSoAtItsEnd(t *testing.T) {
	w := newRun(t)
	s, err := w.Stream(keys(w.Run, pointA, 0, 0), clock.New().Now)
	if err != nil {
		t.Fatal(err)
	}
	s.file.Close()
	s.Add(measure.Record{})
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "keeping ended requests in "+s.file.Name()) {
		t.Errorf("error %v", err)
	}
}

func TestAKilledPointsRequestsAreRecovered(t *testing.T) {
	w := newRun(t)
	m := Measurement{pointA, 0, 0}
	stream(t, w, keys(w.Run, pointA, 0, 0), 2, 3)
	path := w.path(m.file(partial, streamEnding))
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()-100); err != nil {
		t.Fatal(err)
	}
	w.Close()
	again := resume(t, w.Dir())
	if rows := gather(t, again.PartialRequests(m)); len(rows) != 2 || rows[1].PointID != pointA || *rows[1].TTFT != 0.002 {
		t.Errorf("recovered %+v", rows)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the stream is still there")
	}
	if listed, err := again.Partial(); err != nil || !slices.Equal(listed, []Measurement{m}) {
		t.Errorf("partial: %v, %v", listed, err)
	}
	if next, err := again.NextAttempts(); err != nil || next[m.Of()] != 1 {
		t.Errorf("next attempts %v, %v", next, err)
	}
	again.Close()
	if rows := gather(t, resume(t, w.Dir()).PartialRequests(m)); len(rows) != 2 {
		t.Errorf("resumed once more, %d requests are left of 2", len(rows))
	}
}

// The next attempt must not send the prompts of this one again: a cache may hold them.
func TestAnAttemptWithoutAnEndedRequestIsUsedUp(t *testing.T) {
	w := newRun(t)
	m := Measurement{pointA, 0, 0}
	stream(t, w, keys(w.Run, pointA, 0, 0))
	w.Close()
	again := resume(t, w.Dir())
	if rows := gather(t, again.PartialRequests(m)); len(rows) != 0 {
		t.Errorf("rows %+v", rows)
	}
	if next, err := again.NextAttempts(); err != nil || next[m.Of()] != 1 {
		t.Errorf("next attempts %v, %v", next, err)
	}
}

func TestAKillBetweenTheTwoFilesOfAPoint(t *testing.T) {
	w := newRun(t)
	m := Measurement{pointA, 0, 0}
	stream(t, w, keys(w.Run, pointA, 0, 0), 2) // the last batch of it never came
	if err := writeTable(w, Requests, m.file(string(Requests), ".parquet"), 3, requestRows(keys(w.Run, pointA, 0, 0), records(3))); err != nil {
		t.Fatal(err)
	}
	w.Close()
	again := resume(t, w.Dir())
	if listed, err := again.measurements(string(Requests), ".parquet"); len(listed) != 0 || err != nil {
		t.Errorf("the table still has %v, %v", listed, err)
	}
	if rows := gather(t, again.PartialRequests(m)); len(rows) != 3 {
		t.Errorf("%d requests are readable, want 3", len(rows))
	}
	if listed, err := again.measurements(partial, streamEnding); len(listed) != 0 || err != nil {
		t.Errorf("streams %v, %v", listed, err)
	}
}

func TestAKillBeforeTheStreamWasRemoved(t *testing.T) {
	w := newRun(t)
	m := Measurement{pointA, 0, 0}
	writePoint(t, w, keys(w.Run, pointA, 0, 0), measure.PointCompleted, 3)
	stream(t, w, keys(w.Run, pointA, 0, 0), 2)
	w.Close()
	again := resume(t, w.Dir())
	if listed, err := again.Partial(); len(listed) != 0 || err != nil {
		t.Errorf("partial: %v, %v", listed, err)
	}
	if rows := gather(t, again.Requests(m)); len(rows) != 3 {
		t.Errorf("%d requests, want 3", len(rows))
	}
}

func TestAKillWhileAFileWasWritten(t *testing.T) {
	w := newRun(t)
	left := []string{w.path("points/.0123456789abcdef-0-0.parquet1234567"), w.path(".manifest.json1234")}
	for _, path := range left {
		if err := os.WriteFile(path, []byte("half"), fileMode); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	resume(t, w.Dir())
	for _, path := range left {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
}

func BenchmarkStreamAdd(b *testing.B) {
	s := &Stream{wake: make(chan struct{}, 1), waiting: make([]measure.Record, 0, maxWaiting)}
	record := records(1)[0]
	for b.Loop() {
		if len(s.waiting) == maxWaiting {
			s.waiting = s.waiting[:0]
		}
		s.Add(record)
	}
}
