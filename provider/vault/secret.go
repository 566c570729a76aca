package vault

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/thinkd/thinkd/provider"
)

// SecretFromFile reads a secret of one line from a file. A file that everybody can read is an error.
func SecretFromFile(path string) (provider.Secret, error) {
	text, err := fromFile(path)
	if err != nil {
		return provider.Secret{}, err
	}
	return oneLine(path, text)
}

// SecretFromCommand reads a secret of one line from the output of a program. Its errors have what the program wrote to standard error.
func SecretFromCommand(ctx context.Context, command []string) (provider.Secret, error) {
	text, err := fromCommand(ctx, command)
	if err != nil {
		return provider.Secret{}, err
	}
	return oneLine(outputOf(command), text)
}

// oneLine is the only line of a text, which is not quoted.
func oneLine(from string, text []byte) (provider.Secret, error) {
	word := strings.TrimSpace(string(text))
	switch {
	case word == "":
		return provider.Secret{}, fmt.Errorf("%s is empty", from)
	case strings.ContainsAny(word, "\r\n"):
		return provider.Secret{}, fmt.Errorf("%s has more than one line: it must have the secret alone", from)
	case len(text) > maxText:
		return provider.Secret{}, fmt.Errorf("%s is longer than %d bytes", from, maxText)
	}
	return provider.NewSecret(word), nil
}

// maxText is how many bytes a file or a command may give.
const maxText = 64 << 10

// fromFile reads a file that not everybody can read. If it is too long, one byte more than maxText is returned.
func fromFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o007 != 0 {
		return nil, fmt.Errorf("%s can be read by everybody (mode %o): make it 600", path, info.Mode().Perm())
	}
	return io.ReadAll(io.LimitReader(f, maxText+1))
}

// commandTime is how long a command may take: a person may have to touch something.
const commandTime = 30 * time.Second

// fromCommand returns the output of a program. If it is too long, one byte more than maxText is returned.
func fromCommand(ctx context.Context, command []string) ([]byte, error) {
	ctx, stop := context.WithTimeout(ctx, commandTime)
	defer stop()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.WaitDelay = time.Second // for children that hold the pipes
	var out, said limited
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("%s: %w: %s", command[0], err, strings.TrimSpace(said.String()))
	}
	return out.Bytes(), nil
}

func outputOf(command []string) string { return "the output of " + command[0] }

// limited keeps the beginning of what is written.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := maxText + 1 - l.Len(); room > 0 {
		l.Buffer.Write(p[:min(room, len(p))]) // never fails
	}
	return len(p), nil
}
