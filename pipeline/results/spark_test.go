package results

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Spark reads runs as one dataset. It takes half a minute to start and needs Java: the test is left out where SWEETSPOT_SPARK, the folder that
// ".ci/python spark" prints, is not set.
func TestSparkReadsWhatWasWritten(t *testing.T) {
	environment := os.Getenv("SWEETSPOT_SPARK")
	if environment == "" {
		t.Skip("SWEETSPOT_SPARK is not set")
	}
	dirs, requests, points, trials := dataset(t)
	command := exec.Command(filepath.Join(environment, "bin", "python"), append([]string{filepath.Join("testdata", "read_spark.py")}, dirs...)...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("reading with Spark: %v", err)
	}
	var got map[Table]seen
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	decoder.UseNumber()
	if err := decoder.Decode(&got); err != nil {
		t.Fatal(err)
	}
	checkSeen(t, "spark", Requests, requests, got[Requests])
	checkSeen(t, "spark", Points, points, got[Points])
	checkSeen(t, "spark", Trials, trials, got[Trials])
}
