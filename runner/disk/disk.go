// Package disk opens and writes files whose names come from a person, or lie where other programs can put something else in their place: pipes, devices and
// links. It reads regular files alone, as the others can wait for ever, and replaces nothing that is no regular file. It knows nothing of what the files hold.
package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/google/renameio/v2"
)

// ErrNoFile is that something else has the name of a file: a folder, a pipe, a socket or a device.
var ErrNoFile = errors.New("it is no file")

// newMode is that of a file that was not there: what sweetspot writes can hold what was asked and answered.
const newMode fs.FileMode = 0o600

// Open opens a regular file, or a link to one, for reading. It never waits: what is something else is an [ErrNoFile], within an [fs.PathError] as all of
// its errors are.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path) // first, as opening a device can do something
	var fault *fs.PathError
	if errors.As(err, &fault) {
		fault.Op = "open" // which is what was asked for
	}
	if err != nil {
		return nil, err
	}
	if err := regular(path, info); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have become a pipe
	if err != nil {
		return nil, err
	}
	if info, err = file.Stat(); err == nil {
		err = regular(path, info)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

func regular(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return &fs.PathError{Op: "open", Path: path, Err: ErrNoFile}
}

// Read gives the content of a file that [Open] opens.
func Read(path string) ([]byte, error) {
	file, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(file)
}

// Write has write give the content of the file that a person named. A new file, which its owner alone can read, and one that is there, which keeps its
// permissions, come whole or not at all; a link stays, and the file that it leads to is written. What else is there, such as a pipe or a device, is written
// into, and stays.
func Write(path string, write func(io.Writer) error) error {
	if path == "" {
		return errors.New("it has no name: name a file")
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		path, err = end(path)
		if err != nil {
			return err
		}
		return replace(path, newMode, write)
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("it is a folder: name a file in it")
	case !info.Mode().IsRegular():
		return into(path, write)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return err
	}
	return replace(path, info.Mode().Perm(), write)
}

// mostLinks is how many links may lead to a file that is not there.
const mostLinks = 40

// end is where links lead whose end is not there; path itself where it is no link.
func end(path string) (string, error) {
	for range mostLinks {
		to, err := os.Readlink(path)
		if err != nil { // it is no link, or not there
			return path, nil
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", &fs.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
}

func replace(path string, mode fs.FileMode, write func(io.Writer) error) error {
	file, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithStaticPermissions(mode))
	if err != nil {
		return err
	}
	defer file.Cleanup() // does nothing once the file has its name
	if err := write(file); err != nil {
		return err
	}
	return file.CloseAtomicallyReplace()
}

func into(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
