package network

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/thinkd/thinkd/provider/durable"
)

// openerName is the file that leads a browser to the page.
const openerName = "open.html"

// Browse opens the page at url, which contains the token, in the user's browser. The caller calls done when the page is gone.
//
// All users of a machine can read the arguments of its programs, so the browser gets the path of a file that only its user can read, and
// that leads on to the page. A browser that may not read the data directory shows an error instead: some packages of Firefox confine it.
func Browse(dir, url string, getenv func(string) string) (done func() error, err error) {
	path := filepath.Join(dir, openerName)
	text := fmt.Sprintf("<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0; url=%s\"><title>thinkd</title>\n", html.EscapeString(url))
	if err := durable.Replace(path, []byte(text)); err != nil {
		return nil, err
	}
	remove := func() error { return os.Remove(path) }
	opener := append(openers[runtime.GOOS], path)
	if len(opener) == 1 {
		opener = []string{"xdg-open", path}
	}
	if browsers := filepath.SplitList(getenv("BROWSER")); len(browsers) > 0 {
		opener = []string{browsers[0], path}
	}
	cmd := exec.Command(opener[0], opener[1:]...)
	if err := cmd.Start(); err != nil {
		remove()
		return nil, fmt.Errorf("cannot start a browser: %w", err)
	}
	go cmd.Wait() // ends with the opener, which may be the browser, or with this process; how the opener ends is the user's to see
	return remove, nil
}

// openers are the programs that open a file as its user has chosen. On other systems that is xdg-open.
var openers = map[string][]string{
	"darwin":  {"open"},
	"windows": {"rundll32", "url.dll,FileProtocolHandler"},
}
