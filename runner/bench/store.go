package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"sweetspot/runner/disk"
)

// calibrationFile is where a store of runs has this machine's calibration.
const calibrationFile = "calibration.json"

// Save writes c to a store of runs in the place of an earlier one, and makes the store where it is not there. Only the owner can read it.
func (c Calibration) Save(store string) (path string, err error) {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return "", fmt.Errorf("storing the calibration: %w", err)
	}
	if err := os.MkdirAll(store, 0o700); err != nil {
		return "", fmt.Errorf("storing the calibration: %w", err)
	}
	path = filepath.Join(store, calibrationFile)
	err = disk.Write(path, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		return "", fmt.Errorf("storing the calibration: %w", err)
	}
	return path, nil
}

// ReadCalibration reads the calibration that a store of runs has; nil where it has none, or one of another machine.
func ReadCalibration(store string) (*Calibration, error) {
	text, err := disk.Read(filepath.Join(store, calibrationFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the calibration: %w", err)
	}
	var c Calibration
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("reading the calibration in %s: %w", filepath.Join(store, calibrationFile), err)
	}
	if c.Format != CalibrationFormat {
		return nil, fmt.Errorf("the calibration in %s is of format %q, not %q: make it anew with sweetspot calibrate", store, c.Format, CalibrationFormat)
	}
	if here := thisHost(); c.Host.Name != here.Name || c.Host.CPUs != here.CPUs {
		return nil, nil
	}
	return &c, nil
}
