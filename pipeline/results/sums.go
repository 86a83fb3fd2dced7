package results

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sweetspot/runner/disk"
)

// sumsFile lists the checksum of every Parquet file of a run in the format of sha256sum, which can check it.
const sumsFile = "SHA256SUMS"

func (r *Run) appendSum(name, sum string) error {
	out, err := os.OpenFile(filepath.Join(r.dir, sumsFile), os.O_APPEND|os.O_CREATE|os.O_RDWR, fileMode)
	if err != nil {
		return err
	}
	defer out.Close()
	line := fmt.Sprintf("%s  %s\n", sum, filepath.ToSlash(name))
	if torn, err := endsTorn(out); err != nil {
		return err
	} else if torn {
		line = "\n" + line
	}
	if _, err := out.WriteString(line); err != nil {
		return err
	}
	return out.Sync()
}

// endsTorn reports whether the last line has no end, as a full disk or a crash can leave it.
func endsTorn(file *os.File) (bool, error) {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return false, err
	}
	last := make([]byte, 1)
	_, err = file.ReadAt(last, size-1)
	return last[0] != '\n', err
}

// sums are the checksums of a run's files by name.
type sums map[string]string

// readSums reads the list. Of two lines for one name the later holds: the first was for a file that never had its name. Torn lines are passed
// over.
func (r *Run) readSums() (sums, error) {
	listed := sums{}
	in, err := disk.Open(filepath.Join(r.dir, sumsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return listed, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading checksums: %w", err)
	}
	defer in.Close()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if sum, name, ok := strings.Cut(lines.Text(), "  "); ok && len(sum) == hex.EncodedLen(sha256.Size) {
			listed[name] = sum
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading checksums from %s: %w", in.Name(), err)
	}
	return listed, nil
}

// verify compares a file's content with its checksum.
func (s sums) verify(r *Run, name string) error {
	file, err := s.open(r, name)
	if err != nil {
		return err
	}
	return file.close()
}

// open opens a file whose content is what its checksum says, so that nothing is decoded from one that was damaged. The caller closes it.
func (s sums) open(r *Run, name string) (*content, error) {
	path := filepath.Join(r.dir, name)
	want, listed := s[filepath.ToSlash(name)]
	if !listed {
		return nil, fmt.Errorf("reading %s: %s has no checksum of it: sweetspot did not write it", path, sumsFile)
	}
	file, err := openContent(path)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	if _, err = io.Copy(sum, io.NewSectionReader(file, 0, file.Size())); err != nil {
		err = fmt.Errorf("reading %s: %w", path, err)
	} else if hex.EncodeToString(sum.Sum(nil)) != want {
		err = fmt.Errorf("reading %s: it is corrupt or cut short: its checksum is not the one in %s", path, sumsFile)
	}
	if err != nil {
		file.close()
		return nil, err
	}
	return file, nil
}
