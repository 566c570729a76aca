package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

var peers = []subject{
	{name: "codex app-server", peer: codex{}},
	{name: "opencode serve", peer: opencode{}},
	{name: "pi", peer: pi{}},
	{name: "goose", peer: goose{}},
}

const peerShare = 10 // a peer gets one part in so many of the deltas of a flow

// findPeers returns the peers in PATH, and a line for each peer: its version, or why it is not measured.
func findPeers(ctx context.Context, home string) (found []subject, lines []string) {
	for _, s := range peers {
		name := s.peer.command()[0]
		version, err := peerVersion(ctx, name, home)
		if err != nil {
			lines = append(lines, fmt.Sprintf("- %s: not measured: %v", s.name, err))
			continue
		}
		found, lines = append(found, s), append(lines, fmt.Sprintf("- %s: `%s --version` is %s", s.name, name, version))
	}
	return found, lines
}

func peerVersion(ctx context.Context, name, home string) (string, error) {
	if _, err := exec.LookPath(name); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, peerLimit)
	defer cancel()
	var out, failed bytes.Buffer
	cmd := exec.CommandContext(ctx, name, "--version")
	cmd.Env, cmd.Stdout, cmd.Stderr = peerEnv(home), &out, &failed
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s --version: %w: %s", name, err, bytes.TrimSpace(failed.Bytes()))
	}
	for _, text := range []string{out.String(), failed.String()} { // pi prints it to standard error
		if text = strings.TrimSpace(text); text != "" {
			return text[strings.LastIndexByte(text, '\n')+1:], nil
		}
	}
	return "", fmt.Errorf("%s --version prints nothing", name)
}

var stampPattern = regexp.MustCompile(fmt.Sprintf("T[0-9a-v]{%d}Z", stampDigits))

// storedStamps returns how many of the stamped deltas since a time are in the files of a directory. A peer might find fewer again,
// since it may not read all that it wrote.
func storedStamps(dir string, since time.Time) (int, error) {
	found := make(map[string]bool)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, stamp := range stampPattern.FindAll(text, -1) {
			if sent, err := readStamp(stamp); err == nil && sent.After(since) { // other text can look like a stamp
				found[string(stamp)] = true
			}
		}
		return nil
	})
	return len(found), err
}
