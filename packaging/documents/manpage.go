package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
)

// manpage writes thinkd(1) from the help texts of a binary: a section for each command. It asks the binary, so a new command or flag
// needs no change here.
func manpage(out io.Writer, program string) error {
	version, err := output(program, "version")
	if err != nil {
		return err
	}
	top, err := help(program)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, ".TH THINKD 1 \"\" \"%s\" \"User Commands\"\n", escape(version))
	fmt.Fprintf(&b, ".SH NAME\nthinkd \\- %s\n", escape(lowerFirst(top.text)))
	b.WriteString(".SH SYNOPSIS\n.B thinkd\n.I COMMAND\n.RI [ OPTION ]...\n")
	b.WriteString(".SH OPTIONS\nAll commands take these options.\n")
	options(&b, top.flags)
	b.WriteString(".SH COMMANDS\n")
	if err := commands(&b, program, top); err != nil {
		return err
	}
	b.WriteString(`.SH FILES
.TP
.I ~/.config/thinkd/config.toml
The config. On macOS it is in ~/Library/Application Support/thinkd.
.TP
.I ~/.local/share/thinkd
The data directory: the store, keys, settings, the token and the log.
On macOS it is ~/Library/Application Support/thinkd.
.SH SEE ALSO
https://github.com/thinkd/thinkd
`)
	_, err = io.WriteString(out, b.String())
	return err
}

// commands writes the commands below one, depth first.
func commands(b *strings.Builder, program string, above page) error {
	for _, name := range above.commands {
		if name == "help" || name == "completion" {
			continue // they are cobra's
		}
		p, err := help(program, append(above.path[:len(above.path):len(above.path)], name)...)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, ".SS %s\n", escape(p.usage))
		for i, paragraph := range strings.Split(p.text, "\n\n") {
			if i > 0 {
				b.WriteString(".PP\n")
			}
			if strings.Contains(paragraph, "\n ") || strings.HasPrefix(paragraph, " ") { // a table or an example
				fmt.Fprintf(b, ".nf\n%s\n.fi\n", escape(paragraph))
			} else {
				fmt.Fprintf(b, "%s\n", escape(paragraph))
			}
		}
		options(b, p.flags)
		if err := commands(b, program, p); err != nil {
			return err
		}
	}
	return nil
}

func options(b *strings.Builder, flags []flag) {
	for _, f := range flags {
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", escape(f.name), escape(f.text))
	}
}

// A page is what `thinkd COMMAND --help` says.
type page struct {
	path     []string // of the command
	text     string
	usage    string
	commands []string
	flags    []flag // of its own
}

type flag struct{ name, text string }

var (
	section     = regexp.MustCompile(`(?m)^(Usage|Available Commands|Flags|Global Flags|Examples|Aliases):\n`)
	commandLine = regexp.MustCompile(`(?m)^  (\S+) `)
	flagLine    = regexp.MustCompile(`^ +(-.*?)   +(\S.*)$`)
)

// help asks the program, and splits what cobra prints: a text, and sections that begin with a word and a colon.
func help(program string, path ...string) (page, error) {
	text, err := output(program, append(path[:len(path):len(path)], "--help")...)
	if err != nil {
		return page{}, err
	}
	p := page{path: path}
	at := section.FindAllStringSubmatchIndex(text, -1)
	if len(at) == 0 {
		return page{}, fmt.Errorf("thinkd %s --help has no usage", strings.Join(path, " "))
	}
	p.text = strings.TrimSpace(text[:at[0][0]])
	for i, from := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		body := text[from[1]:end]
		switch text[from[2]:from[3]] {
		case "Usage":
			p.usage = strings.TrimSuffix(strings.TrimSpace(strings.SplitN(body, "\n", 2)[0]), " [flags]")
		case "Available Commands":
			for _, m := range commandLine.FindAllStringSubmatch(body, -1) {
				p.commands = append(p.commands, m[1])
			}
		case "Flags":
			for line := range strings.Lines(body) {
				if m := flagLine.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil && !strings.Contains(m[1], "--help") {
					p.flags = append(p.flags, flag{m[1], m[2]})
				}
			}
		}
	}
	return p, nil
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// escape keeps roff from reading a text: backslashes, hyphens that are typed, and lines that begin with a period or a quote.
func escape(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
