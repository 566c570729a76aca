// Package clipboard reads and writes the clipboard of the system, with the programs that systems have for it. It looks for them when it is
// called, and not before.
package clipboard

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
)

// mostImage bounds an image, in bytes.
const mostImage = 32 << 20

// ErrNoProgram says that the system has no program for the clipboard that this package knows.
var ErrNoProgram = errors.New("no program for the clipboard was found (pbcopy, pngpaste, wl-clipboard or xclip)")

// ErrNoImage says that the clipboard has no image.
var ErrNoImage = errors.New("the clipboard has no image")

// first is the first of some command lines whose program is there and fits the environment: wl-copy needs Wayland, and xclip X11.
func first(env func(string) string, lines ...string) []string {
	for _, line := range lines {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "wl-") && env("WAYLAND_DISPLAY") == "":
		case strings.HasPrefix(line, "xclip") && env("DISPLAY") == "":
		default:
			if _, err := exec.LookPath(words[0]); err == nil {
				return words
			}
		}
	}
	return nil
}

// Write puts a text into the clipboard.
func Write(ctx context.Context, env func(string) string, text string) error {
	words := first(env, "pbcopy", "wl-copy", "xclip -selection clipboard", "clip.exe")
	if words == nil {
		return ErrNoProgram
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdin = strings.NewReader(text)
	return cmd.Run()
}

// Image returns the image in the clipboard, as PNG.
func Image(ctx context.Context, env func(string) string) ([]byte, error) {
	words := first(env, "pngpaste -", "wl-paste --no-newline --type image/png", "xclip -selection clipboard -target image/png -out")
	if words == nil {
		return nil, ErrNoProgram
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(out, mostImage+1))
	if len(data) > mostImage {
		cmd.Process.Kill()
	}
	switch ended := cmd.Wait(); {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, err
	case len(data) > mostImage:
		return nil, errors.New("the image in the clipboard is larger than 32 MB")
	case ended != nil, !bytes.HasPrefix(data, []byte("\x89PNG\r\n")):
		return nil, ErrNoImage
	}
	return data, nil
}
