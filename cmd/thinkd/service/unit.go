package service

import (
	"path/filepath"
	"strings"
)

// A Program is what a service starts. The paths are absolute.
type Program struct {
	Path   string // of thinkd
	Data   string // the data directory
	Config string // the config file; empty: the default one
	Socket string // where the daemon listens; for systemd
}

// arguments are those of the daemon. idle: it exits when nobody needs it.
func (p Program) arguments(idle bool) []string {
	args := []string{p.Path, "--data", p.Data}
	if p.Config != "" {
		args = append(args, "--config", p.Config)
	}
	args = append(args, "daemon")
	if !idle {
		args = append(args, "--idle", "0")
	}
	return args
}

// Packaged is the program of a package. systemd replaces %h by the home of each user.
var Packaged = Program{Path: "/usr/bin/thinkd", Data: "%h/.local/share/thinkd", Socket: "%h/.local/share/thinkd/thinkd.sock"}

// SocketUnit is the text of the systemd unit that listens. escaped: the paths have systemd's specifiers, as in [Packaged].
func SocketUnit(p Program, escaped bool) string {
	return `[Unit]
Description=Socket of thinkd
Documentation=https://github.com/thinkd/thinkd

[Socket]
ListenStream=` + specifiers(p.Socket, escaped) + `
SocketMode=0600
DirectoryMode=0700
RemoveOnStop=yes

[Install]
WantedBy=sockets.target
`
}

// ServiceUnit is the text of the systemd unit that the socket starts.
func ServiceUnit(p Program, escaped bool) string {
	var words []string
	for _, word := range p.arguments(true) {
		words = append(words, quote(specifiers(word, escaped)))
	}
	return `[Unit]
Description=thinkd, a daemon that keeps conversations with reasoning models
Documentation=https://github.com/thinkd/thinkd
Requires=thinkd.socket
After=thinkd.socket

[Service]
Type=notify
ExecStart=` + strings.Join(words, " ") + `
# At the end, turns are interrupted and clients read how they ended: this takes at most 10 s.
TimeoutStopSec=20
Restart=on-failure
`
}

// specifiers keeps systemd from replacing percent signs.
func specifiers(text string, escaped bool) string {
	if escaped {
		return text
	}
	return strings.ReplaceAll(text, "%", "%%")
}

// quote makes one word of a command line (systemd.service(5), "Command lines").
func quote(word string) string {
	if !strings.ContainsAny(word, " \t\"'\\;$") {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `$$`).Replace(word) + `"`
}

// Label is the daemon's name at launchd.
const Label = "io.github.thinkd"

// LaunchAgent is the text of launchd's property list. It is put together by hand: text/template would keep the linker from removing unused
// methods anywhere in the program, which takes 3 MB.
func LaunchAgent(p Program) string {
	escapeXML := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	var arguments strings.Builder
	for _, word := range p.arguments(false) {
		arguments.WriteString("\t\t<string>" + escapeXML.Replace(word) + "</string>\n")
	}
	return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>` + Label + `</string>
	<key>ProgramArguments</key>
	<array>
` + arguments.String() + `	</array>
	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>ProcessType</key>
	<string>Interactive</string>
	<key>ExitTimeOut</key>
	<integer>20</integer>
	<key>StandardErrorPath</key>
	<string>` + escapeXML.Replace(filepath.Join(p.Data, "service.log")) + `</string>
</dict>
</plist>
`
}
