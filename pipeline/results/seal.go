package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// A manifest is replaced in one step, and so carries its checksum itself: two files can't be. It is the last field, and of all that stands before it.
const (
	sealBegin = ",\n  \"sha256\": \""
	sealEnd   = "\"\n}\n"
)

// seal is the end of a manifest of which body is the rest.
func seal(body []byte) string {
	sum := sha256.Sum256(body)
	return sealBegin + hex.EncodeToString(sum[:]) + sealEnd
}

// sealed gives a JSON object, written with two blanks for each level, its checksum as a last field.
func sealed(object []byte) []byte {
	body := bytes.TrimSuffix(object, []byte("\n}"))
	return append(bytes.Clone(body), seal(body)...)
}

// checkSeal says that a manifest is not as it was written. One without the field is of an earlier sweetspot, or a person took it out: the last field of such a
// one is no text, so that damage to the field's own name is told from that.
func checkSeal(text []byte) error {
	if !bytes.HasSuffix(bytes.TrimSpace(text), []byte("\"\n}")) {
		return nil
	}
	if at := len(text) - len(seal(nil)); at > 0 && string(text[at:]) == seal(text[:at]) {
		return nil
	}
	return errors.New("it is not as it was written: its sha256 is not that of what stands before it")
}
