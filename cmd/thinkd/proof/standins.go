package proof

import (
	"fmt"
	"strings"

	"github.com/thinkd/thinkd/registry"
)

// StandInConfig gives each vendor the stand-in's address: the hosts of Chat Completions have a path each.
func StandInConfig(address string) string {
	var b strings.Builder
	b.WriteString("models_dev = \"\"\n")
	for _, v := range registry.Vendors() {
		path := map[string]string{"responses": "/v1", "chat": "/" + v.Dialect}[v.API]
		if v.ID == "sim" {
			continue
		}
		if own, ok := map[string]string{"azure": "/openai/v1", "chatgpt": "/backend-api/codex", "vertex": "/v1/projects/p/locations/global"}[v.ID]; ok {
			path = own
		}
		fmt.Fprintf(&b, "[providers.%s]\nbase_url = %q\n", v.ID, address+path)
		if v.API == "responses" { // its models of the other API
			fmt.Fprintf(&b, "headers = { X-Sim-Dialect = %q }\n", v.Dialect)
		}
	}
	return b.String()
}

// StandInEnvironment has a key for everybody.
func StandInEnvironment(name string) string {
	switch {
	case strings.HasSuffix(name, "_API_KEY"), name == "COPILOT_GITHUB_TOKEN", name == "GOOGLE_OAUTH_ACCESS_TOKEN", name == "AWS_BEARER_TOKEN_BEDROCK":
		return "sk-of-the-test"
	case name == "CODEX_ACCESS_TOKEN": // of no signature, with the account acct_1
		return "e30.eyJodHRwczovL2FwaS5vcGVuYWkuY29tL2F1dGgiOnsiY2hhdGdwdF9hY2NvdW50X2lkIjoiYWNjdF8xIn19.e30"
	}
	return ""
}
