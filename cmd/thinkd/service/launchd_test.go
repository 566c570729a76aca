package service

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// launchAgentKinds are the kinds of the values that launchd.plist(5) demands, for the keys that thinkd uses.
var launchAgentKinds = map[string]string{"Label": "string", "ProgramArguments": "[]interface {}", "RunAtLoad": "bool",
	"KeepAlive": "map[string]interface {}", "ProcessType": "string", "ExitTimeOut": "int", "StandardErrorPath": "string"}

// launchd cannot run here, so the property list is read by the format's rules: https://www.apple.com/DTDs/PropertyList-1.0.dtd.
func TestLaunchAgent(t *testing.T) {
	p := Program{Path: "/Applications/a & b/thinkd", Data: "/Users/me/Library/Application Support/thinkd", Config: "/Users/me/<c>.toml"}
	got, err := readPropertyList(LaunchAgent(p))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"Label":             "io.github.thinkd",
		"ProgramArguments":  []any{p.Path, "--data", p.Data, "--config", p.Config, "daemon", "--idle", "0"},
		"RunAtLoad":         true,
		"KeepAlive":         map[string]any{"SuccessfulExit": false},
		"ProcessType":       "Interactive",
		"ExitTimeOut":       20,
		"StandardErrorPath": p.Data + "/service.log",
	}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("the property list (-want +got):\n%s", diff)
	}
	for key, value := range want {
		if kind := fmt.Sprintf("%T", value); kind != launchAgentKinds[key] {
			t.Errorf("%s is a %s, launchd.plist(5) demands %s", key, kind, launchAgentKinds[key])
		}
	}
	for _, bad := range []string{"<plist><dict><key>a</key></dict></plist>", "<plist><dict><string>a</string></dict></plist>", "<plist><array></plist>", "<plist><integer>x</integer></plist>"} {
		if got, err := readPropertyList(bad); err == nil {
			t.Errorf("%s is read as %v", bad, got)
		}
	}
}

// readPropertyList returns the value of a property list.
func readPropertyList(text string) (any, error) {
	in := xml.NewDecoder(strings.NewReader(text))
	start, err := nextElement(in)
	if err != nil || start == nil || start.Name.Local != "plist" {
		return nil, errors.Join(err, errors.New("no property list"))
	}
	if start, err = nextElement(in); err != nil || start == nil {
		return nil, errors.Join(err, errors.New("no value"))
	}
	value, err := readValue(in, start)
	if err != nil {
		return nil, err
	}
	if start, err = nextElement(in); err != nil || start != nil {
		return nil, errors.Join(err, errors.New("more than one value"))
	}
	if _, err := nextElement(in); !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, errors.New("more than one property list"))
	}
	return value, nil
}

// nextElement returns the next start of an element; nil at the end of the one around it.
func nextElement(in *xml.Decoder) (*xml.StartElement, error) {
	for {
		token, err := in.Token()
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			return &token, nil
		case xml.EndElement:
			return nil, nil
		case xml.CharData:
			if strings.TrimSpace(string(token)) != "" {
				return nil, fmt.Errorf("text between elements: %q", token)
			}
		}
	}
}

func readValue(in *xml.Decoder, start *xml.StartElement) (any, error) {
	switch start.Name.Local {
	case "array":
		list := []any{}
		for {
			next, err := nextElement(in)
			if err != nil || next == nil {
				return list, err
			}
			value, err := readValue(in, next)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
	case "dict":
		return readDict(in)
	case "true", "false":
		return start.Name.Local == "true", in.Skip()
	}
	var text string
	if err := in.DecodeElement(&text, start); err != nil {
		return nil, err
	}
	switch start.Name.Local {
	case "string":
		return text, nil
	case "integer":
		return strconv.Atoi(text)
	}
	return nil, fmt.Errorf("an element %s", start.Name.Local)
}

// readDict reads keys and values in turn.
func readDict(in *xml.Decoder) (map[string]any, error) {
	dict := make(map[string]any)
	for {
		start, err := nextElement(in)
		if err != nil || start == nil {
			return dict, err
		}
		var key string
		if start.Name.Local != "key" {
			return nil, fmt.Errorf("a %s without a key", start.Name.Local)
		}
		if err := in.DecodeElement(&key, start); err != nil {
			return nil, err
		}
		if start, err = nextElement(in); err != nil || start == nil {
			return nil, errors.Join(err, errors.New("a key without a value"))
		}
		if dict[key], err = readValue(in, start); err != nil {
			return nil, err
		}
	}
}
