package results

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

const (
	dirMode  = 0o700 // results can hold what was asked and answered
	fileMode = 0o600
)

// replace writes a file whole or not at all: under a temporary name, synced, and renamed over what was there.
func replace(path string, write func(io.Writer) error) error {
	return durable(path, write, func() error { return nil })
}

// create writes a file as replace does, but never over another. Its checksum is listed before the file has its name, so a file without one was
// not written by this function.
func (r *Run) create(name string, write func(io.Writer) error) error {
	path := filepath.Join(r.dir, name)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("writing %s: there is a file of that name, and results are never overwritten", path)
	}
	sum := sha256.New()
	summed := func(w io.Writer) error { return write(io.MultiWriter(w, sum)) }
	return durable(path, summed, func() error { return r.appendSum(name, hex.EncodeToString(sum.Sum(nil))) })
}

// durable calls ready when the file's content is on the disk and before it has its name.
func durable(path string, write func(io.Writer) error, ready func() error) error {
	if err := writeDurable(path, write, ready); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

func writeDurable(path string, write func(io.Writer) error, ready func() error) error {
	dir := filepath.Dir(path)
	pending, err := renameio.NewPendingFile(path, renameio.WithTempDir(dir), renameio.WithStaticPermissions(fileMode))
	if err != nil {
		return err
	}
	defer pending.Cleanup() // does nothing once the file has its name
	if err := write(pending); err != nil {
		return err
	}
	if err := pending.Sync(); err != nil {
		return err
	}
	if err := ready(); err != nil {
		return err
	}
	if err := pending.CloseAtomicallyReplace(); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes names given in dir survive a crash of the machine.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
