package trail

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/thinkd/thinkd/provider/durable"
	"github.com/thinkd/thinkd/session"
	"github.com/thinkd/thinkd/session/jet"
)

// markName is the file in the directory of the audit that says under which id its files are sent.
const markName = "sent.json"

// mark is that file. The id is of the directory and not of the node, because positions are bytes of its files: a node that gets a new disk begins at 0 again.
type mark struct {
	ID    string      `json:"id"`
	Since session.Day `json:"since,omitempty"` // earlier days were sent under an id before; empty: there was none
}

// readMark reads the mark of a directory; ok is false if it has none.
func readMark(dir string) (m mark, ok bool, err error) {
	path := filepath.Join(dir, markName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err == nil && !jet.ValidAuditDir(m.ID) {
		err = fmt.Errorf("id %q is none", m.ID)
	}
	if err != nil {
		return m, false, fmt.Errorf("%s: %w; remove the file to send all records of this directory again", path, err)
	}
	return m, true, nil
}

// newMark gives a directory another id, for the days since one.
func newMark(dir string, since session.Day) (mark, error) {
	m := mark{jet.NewAuditDir(), since}
	text, err := json.Marshal(m)
	if err == nil {
		err = durable.Replace(filepath.Join(dir, markName), text)
	}
	return m, err
}
