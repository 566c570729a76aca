package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/lmittmann/tint"

	"github.com/thinkd/thinkd/cmd/thinkd/printable"
)

// newLog writes records as the config says.
func (c *config) newLog(to io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return nil, fmt.Errorf("log_level: %q is none of debug, info, warn, error", c.LogLevel)
	}
	switch c.LogFormat {
	case "json":
		return slog.New(slog.NewJSONHandler(to, &slog.HandlerOptions{Level: level})), nil
	case "text":
		options := &tint.Options{Level: level, TimeFormat: "15:04:05.000"}
		if !printable.IsTerminal(to) {
			options.TimeFormat, options.NoColor = "2006-01-02 15:04:05.000", true
		}
		return slog.New(tint.NewTextHandler(printable.Bare(to), options)), nil
	}
	return nil, fmt.Errorf("log_format: %q is none of text, json", c.LogFormat)
}

// serverLog is what the embedded server writes to.
type serverLog struct{ *slog.Logger }

// Noticef takes what the server does. What it prints in many lines at its start is for debugging.
func (l serverLog) Noticef(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	if strings.HasPrefix(text, " ") || strings.HasPrefix(text, "---") {
		l.Debug(strings.TrimSpace(text))
		return
	}
	l.Info(text)
}

func (l serverLog) Warnf(format string, v ...any)  { l.Warn(fmt.Sprintf(format, v...)) }
func (l serverLog) Errorf(format string, v ...any) { l.Error(fmt.Sprintf(format, v...)) }
func (l serverLog) Debugf(format string, v ...any) { l.Debug(fmt.Sprintf(format, v...)) }
func (l serverLog) Tracef(format string, v ...any) { l.Debug(fmt.Sprintf(format, v...)) }

// Fatalf ends the process, as the server expects: it calls this where it cannot go on, and has no error to return.
func (l serverLog) Fatalf(format string, v ...any) {
	l.Error(fmt.Sprintf(format, v...))
	os.Exit(1)
}
