package aws

import (
	"context"
	"regexp"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/thinkd/thinkd/provider"
)

var regionForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-\d{1,2}$`) })

// ValidRegion reports whether a text has the form of a region's name, such as eu-central-1.
func ValidRegion(name string) bool { return regionForm().MatchString(name) }

// Region is the region of the environment, or otherwise of a profile of the shared files; empty: nobody names one. An empty profile is the one
// that the environment names. The shared files are those of this process, whatever getenv says. A file that cannot be read is an error of
// the first call, which names it.
func Region(ctx context.Context, getenv func(string) string, profile string) string {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION"} {
		if value := strings.TrimSpace(getenv(name)); value != "" {
			return value
		}
	}
	if profile == "" {
		profile = strings.TrimSpace(getenv("AWS_PROFILE"))
	}
	if profile == "" {
		profile = config.DefaultSharedConfigProfile
	}
	shared, err := config.LoadSharedConfigProfile(ctx, profile, func(o *config.LoadSharedConfigOptions) {
		if file := strings.TrimSpace(getenv("AWS_CONFIG_FILE")); file != "" {
			o.ConfigFiles = []string{file}
		}
		if file := strings.TrimSpace(getenv("AWS_SHARED_CREDENTIALS_FILE")); file != "" {
			o.CredentialsFiles = []string{file}
		}
	})
	if err != nil {
		return ""
	}
	return shared.Region
}

// domain is that of all hosts in a region (docs: General Reference, partitions).
func domain(region string) string {
	if strings.HasPrefix(region, "cn-") {
		return ".amazonaws.com.cn"
	}
	return ".amazonaws.com"
}

// runtime begins the names of the hosts that answer calls of models.
const runtime = "://bedrock-runtime."

// Runtime is the base URL of a region's models (docs: Bedrock endpoints).
func Runtime(region string) string { return "https" + runtime + region + domain(region) }

// Control is the base URL for lists of models that belongs to one of [Runtime]. A base URL of another form, such as that of a gateway, serves
// both.
func Control(base string) string { return strings.Replace(base, runtime, "://bedrock.", 1) }

// Mantle is the base URL of the Messages API that belongs to one of [Runtime]. A base URL of another form serves both.
func Mantle(base string) string {
	scheme, host, ok := strings.Cut(base, runtime)
	region, rest, dotted := strings.Cut(host, ".")
	if !ok || !dotted || !strings.HasPrefix("."+rest, domain(region)) {
		return base + "/anthropic"
	}
	return scheme + "://bedrock-mantle." + region + ".api.aws/anthropic"
}

// Escape is a text as a segment of a path, escaped as Amazon's own clients do it: an id of a model may have colons and slashes.
func Escape(segment string) string {
	var b strings.Builder
	for _, c := range []byte(segment) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		const hex = "0123456789ABCDEF"
		b.Write([]byte{'%', hex[c>>4], hex[c&15]})
	}
	return b.String()
}

// Advise completes the refusal of an id that works only with a place in front, and reports whether it is one.
func Advise(e *provider.Error) bool {
	if !strings.Contains(e.Message, "on-demand throughput") {
		return false
	}
	e.Subject = provider.SubjectModel
	e.Message += " (take the id with us., eu., au., jp. or global. in front)"
	return true
}
