package telemetry

import (
	"cmp"
	"errors"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/thinkd/thinkd/cmd/thinkd/telemetry/otlp"
	"github.com/thinkd/thinkd/provider"
)

// environment reads the variables of OpenTelemetry that are for exporters (opentelemetry.io: "Environment Variable Specification" and
// "OpenTelemetry Protocol Exporter"). The SDK reads the others: OTEL_TRACES_SAMPLER, OTEL_BSP_*, OTEL_METRIC_EXPORT_*,
// OTEL_SPAN_* and the resource. The variables are for all programs of the user. One that is wrong, or asks for what thinkd
// cannot do, is named in the log and does not keep the daemon from starting.
type environment struct {
	configured string // the config's endpoint, which goes before the environment's; empty: none
	getenv     func(string) string
	log        *slog.Logger
}

// settings are what the environment and the config say. Its fields are exported so that package fmt calls the methods that hide
// keys.
type settings struct {
	Traces, Metrics otlp.Endpoint // without a URL: not sent
	Queue           int           // how many spans may wait
}

// signal is one of the two that are sent.
type signal struct{ name, path string }

var (
	tracesSignal  = signal{"TRACES", "v1/traces"}
	metricsSignal = signal{"METRICS", "v1/metrics"}
)

// settings are what to send, and where. ok is false unless a collector is configured.
func (o environment) settings() (c settings, ok bool) {
	if strings.EqualFold(o.get("OTEL_SDK_DISABLED"), "true") {
		return settings{}, false
	}
	c.Traces, c.Metrics = o.endpoint(tracesSignal), o.endpoint(metricsSignal)
	if c.Traces.URL == "" && c.Metrics.URL == "" {
		return settings{}, false
	}
	c.Queue = cmp.Or(o.number("OTEL_BSP_MAX_QUEUE_SIZE"), sdktrace.DefaultMaxQueueSize)
	return c, true
}

func (o environment) get(name string) string { return strings.TrimSpace(o.getenv(name)) }

// of is the value for a signal, otherwise for all signals, and the name of its variable.
func (o environment) of(s signal, what string) (value, name string) {
	name = "OTEL_EXPORTER_OTLP_" + s.name + "_" + what
	if value = o.get(name); value == "" {
		name = "OTEL_EXPORTER_OTLP_" + what
		value = o.get(name)
	}
	return value, name
}

func (o environment) wrong(name, problem string) {
	o.log.Warn("OpenTelemetry: a variable is ignored", "name", name, "because", problem)
}

// endpoint is where a signal goes. It has no URL if the signal is not sent.
func (o environment) endpoint(s signal) otlp.Endpoint {
	switch name := "OTEL_" + s.name + "_EXPORTER"; o.get(name) {
	case "", "otlp":
	case "none":
		return otlp.Endpoint{}
	default:
		o.wrong(name, "only otlp and none are known")
		return otlp.Endpoint{}
	}
	address, name := o.of(s, "ENDPOINT")
	if o.configured != "" {
		address, name = o.configured, ""
	}
	if address == "" {
		return otlp.Endpoint{}
	}
	u, err := ParseEndpoint(address)
	if err != nil {
		o.wrong(name, err.Error())
		return otlp.Endpoint{}
	}
	if !strings.Contains(name, s.name) { // the address of one signal is complete
		u = u.JoinPath(s.path)
	}
	e := otlp.Endpoint{URL: u.String(), Headers: o.headers(s)}
	switch protocol, name := o.of(s, "PROTOCOL"); protocol {
	case "", "http/protobuf":
	case "http/json":
		e.JSON = true
	default:
		o.wrong(name, "only http/protobuf and http/json are known, so nothing is sent")
		return otlp.Endpoint{}
	}
	switch how, name := o.of(s, "COMPRESSION"); how {
	case "", "none":
	case "gzip":
		e.Gzip = true
	default:
		o.wrong(name, "only gzip and none are known")
	}
	_, name = o.of(s, "TIMEOUT")
	e.Timeout = time.Duration(o.number(name)) * time.Millisecond
	return e
}

// ParseEndpoint parses the base address of a collector. Its error does not quote the address, which may contain a password.
func ParseEndpoint(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return nil, errEndpoint
	}
	return u, nil
}

var errEndpoint = errors.New(`must be an address such as "http://127.0.0.1:4318", without a user name; keys go into OTEL_EXPORTER_OTLP_HEADERS`)

// number is a positive number, 0 if the variable has none.
func (o environment) number(name string) int {
	value := o.get(name)
	if value == "" {
		return 0
	}
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil || n == 0 {
		o.wrong(name, "must be a positive number")
		return 0
	}
	return int(n)
}

// headers are sent with each request of a signal. They may carry keys, so the log shows no value.
func (o environment) headers(s signal) map[string]provider.Secret {
	text, name := o.of(s, "HEADERS")
	list, err := pairs(text)
	if err != nil {
		o.wrong(name, err.Error())
		return nil
	}
	headers := make(map[string]provider.Secret)
	for key, value := range list {
		if key == "" || strings.ContainsFunc(key, notInHeaderName) || strings.ContainsFunc(value, unicode.IsControl) {
			o.wrong(name, "something in it is not a header")
			return nil
		}
		headers[key] = provider.NewSecret(value)
	}
	return headers
}

// notInHeaderName reports whether a character may not be in the name of a header (RFC 9110, 5.6.2).
func notInHeaderName(r rune) bool {
	return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

var errPairs = errors.New("must be name=value,name=value, with % and two hex digits for what may not stand in a value")

// pairs parses a list of names and percent-encoded values. Its errors quote nothing.
func pairs(text string) (map[string]string, error) {
	list := make(map[string]string)
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, value, ok := strings.Cut(part, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			return nil, errPairs
		}
		list[name] = value
	}
	return list, nil
}
