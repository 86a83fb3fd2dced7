package target

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"sweetspot/runner/workload"
)

// maxFile is how large a file of session trees may be, in bytes.
const maxFile = 1 << 30

// ReadSessions reads a file of session trees whole and gives its SHA-256 in hexadecimal. An error names all that is wrong with it, a line each.
func ReadSessions(file string, open func(string) (io.ReadCloser, error)) (*workload.DAG, string, error) {
	opened, err := open(file)
	if err != nil {
		return nil, "", err
	}
	defer opened.Close()
	content, err := io.ReadAll(io.LimitReader(opened, maxFile+1))
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("reading %s: %w", file, err)
	case len(content) > maxFile:
		return nil, "", fmt.Errorf("%s is larger than 1 GiB", file)
	}
	dag, err := workload.ReadDAG(file, bytes.NewReader(content))
	sum := sha256.Sum256(content)
	return dag, hex.EncodeToString(sum[:]), err
}

// sessionsOf reads the file of a trial's sessions; nil where it has none.
func sessionsOf(config Config) (*workload.DAG, error) {
	named := config.Spec.Workload.DAG
	if named == nil {
		return nil, nil
	}
	dag, sum, err := ReadSessions(named.File, config.Open)
	if err == nil && named.SHA256 != "" && sum != named.SHA256 {
		err = fmt.Errorf("%s is not the file that the run was planned with: its SHA-256 is %s, not %s", named.File, sum, named.SHA256)
	}
	return dag, err
}
