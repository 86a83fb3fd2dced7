package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"time"

	"sweetspot/runner/disk"
	"sweetspot/schema"
)

const manifestFile = "manifest.json"

// Status is how far a run is.
type Status string

// The statuses of a run.
const (
	Running     Status = "running"
	Completed   Status = "completed"   // every point was measured, and had an ok request
	Failed      Status = "failed"      // every point was tried, and one of them failed
	Interrupted Status = "interrupted" // the person stopped it
	Killed      Status = "killed"      // it ended without saying how; never stored, seen from its lock
)

// Manifest says what a run is. It holds no secret: names of environment variables and redacted values only.
type Manifest struct {
	SchemaVersion int              `json:"schema_version"`
	RunID         string           `json:"run_id"`
	CreatedAt     time.Time        `json:"created_at"`
	Name          string           `json:"name"`               // of the preset, or as a person renamed it
	NamedAt       *time.Time       `json:"named_at,omitempty"` // when a person gave it that name; nil where it is the preset's
	Status        Status           `json:"status"`             // as last stored; [Run.Status] looks at the lock too
	Given         Given            `json:"preset"`
	Normalised    *schema.Preset   `json:"preset_normalised"` // defaults filled in, trials expanded
	Environment   []string         `json:"environment"`       // names of the variables that the preset reads
	Rule          Rule             `json:"rule"`
	Plan          json.RawMessage  `json:"plan"`     // the trials and points, with their ids
	Services      map[string]Facts `json:"services"` // by trial_id: what the service reported of itself
	Executions    []Execution      `json:"executions"`
	Imported      *Imported        `json:"imported,omitempty"` // nil where sweetspot measured
}

// Imported says where a run comes from that another tool measured. Such a run has no executions.
type Imported struct {
	Format string   `json:"format"`          // of the files, as preset import --format names it
	Source string   `json:"source"`          // the tool and its version, as far as it is known
	State  string   `json:"state,omitempty"` // what the file itself says of how far it is
	Notes  []string `json:"notes"`           // what in the figures is by the tool's own definition, a sentence each
	Files  []Kept   `json:"files"`
}

// Kept is a file that a run keeps a copy of, secrets redacted.
type Kept struct {
	Name   string `json:"name"`   // of the copy, below the run's directory
	SHA256 string `json:"sha256"` // of the file as it was read
	Size   int64  `json:"size"`   // of it, in bytes
}

// Given is a preset as the person gave it, secrets redacted.
type Given struct {
	Filename  string   `json:"filename"`
	Text      string   `json:"text"`
	Overrides []string `json:"overrides,omitempty"` // path=value, from the command line
}

// Rule is how a run is judged unless it is judged again by another.
type Rule struct {
	Limits schema.Limits `json:"limits"`
	Select schema.Select `json:"select"`
}

// Facts are what a service says of itself, as it says it: such as version, model and context length.
type Facts map[string]string

// Execution is one process that measured points of the run: the one that began it, or one that resumed it.
type Execution struct {
	StartedAt   time.Time  `json:"started_at"`
	EndedAt     *time.Time `json:"ended_at"` // null while it runs, and for ever where it was killed
	Status      Status     `json:"status"`
	ToolVersion string     `json:"tool_version"`
	Host        Host       `json:"host"`
	ClockID     string     `json:"clock_id"`       // instants of rows with the same clock_id can be compared
	ClockZero   time.Time  `json:"clock_zero_utc"` // when that clock read zero, as the wall clock saw it
	Notes       []string   `json:"notes"`          // what the person was told beside the figures
	Left        []string   `json:"left,omitempty"` // why something of a service may be left that was to be stopped
}

// Host is the machine that the load came from.
type Host struct {
	Name string `json:"hostname"`
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
}

func writeManifest(dir string, m Manifest) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the manifest of run %s: %w", m.RunID, err)
	}
	return replace(filepath.Join(dir, manifestFile), func(w io.Writer) error {
		_, err := w.Write(sealed(text))
		return err
	})
}

// errNoRun is that a directory is not a run's.
var errNoRun = errors.New("it has no " + manifestFile + ": it is no run")

func readManifest(dir string) (Manifest, error) {
	path := filepath.Join(dir, manifestFile)
	text, err := disk.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Manifest{}, fmt.Errorf("opening run %s: %w", dir, errNoRun)
	}
	if err != nil {
		return Manifest{}, fmt.Errorf("opening run %s: %w", dir, err)
	}
	m, err := decodeManifest(text)
	if err != nil {
		return Manifest{}, fmt.Errorf("reading %s: %w", path, err)
	}
	return m, nil
}

func decodeManifest(text []byte) (m Manifest, err error) {
	var version struct {
		SchemaVersion *int `json:"schema_version"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return m, fmt.Errorf("it is corrupt: %w", err)
	}
	if version.SchemaVersion == nil {
		return m, errors.New("it is no manifest of a run: it has no schema_version")
	}
	if *version.SchemaVersion != SchemaVersion {
		return m, anotherVersion(strconv.Itoa(*version.SchemaVersion))
	}
	if err := checkSeal(text); err != nil {
		return m, err
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return Manifest{}, fmt.Errorf("it is corrupt: %w", err)
	}
	return m, nil
}

// anotherVersion is that a file is of a results schema that this sweetspot does not read: nothing is wrong with it.
type anotherVersion string

func (v anotherVersion) Error() string {
	return fmt.Sprintf("its results schema is version %s; this sweetspot reads version %d", string(v), SchemaVersion)
}
