package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thinkd/thinkd/provider/aws"
)

// TestAmazon reads where models of Amazon are, and whose credentials call them. Without a section nobody's credentials are used.
func TestAmazon(t *testing.T) {
	home := t.TempDir()
	shared := filepath.Join(home, "shared")
	if err := os.WriteFile(shared, []byte("[default]\nregion = eu-west-1\n[profile work]\nregion = ap-southeast-2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, file string
		env        map[string]string
		base       string
		amazon     *aws.Settings
		err        string
	}{
		{name: "nothing"},
		{name: "a region of the environment alone", env: map[string]string{"AWS_REGION": "us-west-2"}, base: "https://bedrock-runtime.us-west-2.amazonaws.com"},
		{name: "a region", file: "region = \"eu-central-1\"", base: "https://bedrock-runtime.eu-central-1.amazonaws.com", amazon: &aws.Settings{Region: "eu-central-1"}},
		{name: "a region before that of the environment", file: "region = \"eu-central-1\"", env: map[string]string{"AWS_REGION": "us-west-2"},
			base: "https://bedrock-runtime.eu-central-1.amazonaws.com", amazon: &aws.Settings{Region: "eu-central-1"}},
		{name: "the region of a profile", file: "aws_profile = \"work\"", base: "https://bedrock-runtime.ap-southeast-2.amazonaws.com", amazon: &aws.Settings{Region: "ap-southeast-2", Profile: "work"}},
		{name: "a gateway", file: "base_url = \"https://llm.example.com/aws\"\nregion = \"eu-central-1\"", base: "https://llm.example.com/aws", amazon: &aws.Settings{Region: "eu-central-1"}},
		{name: "an address of the environment", file: "region = \"eu-central-1\"", env: map[string]string{"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "http://localhost:9"}, base: "http://localhost:9", amazon: &aws.Settings{Region: "eu-central-1"}},
		{name: "no region", file: "cache = \"1h\"", env: map[string]string{"AWS_CONFIG_FILE": home + "/none"}, err: "FILE:1: providers.bedrock.region: missing; name a region"},
		{name: "no form of a region", file: "region = \"Frankfurt\"", err: `FILE:2: providers.bedrock.region: must be the name of a region of AWS, such as "eu-central-1"`},
		{name: "another vendor", file: "region = \"eu-central-1\"\n[providers.groq]\nregion = \"eu-central-1\"", err: "FILE:4: providers.groq.region: only Amazon Bedrock has it, and this provider has models of groq"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := ""
			if tt.file != "" {
				text = "[providers.bedrock]\n" + tt.file + "\n"
			}
			c, err := Parse("FILE", []byte(text), func(name string) string {
				if value, ok := tt.env[name]; ok || name != "AWS_CONFIG_FILE" {
					return value
				}
				return shared
			})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range c.Providers {
				if p.ID == "bedrock" && (p.BaseURL != tt.base || !cmp.Equal(p.Amazon, tt.amazon)) {
					t.Errorf("%q with %+v, want %q with %+v", p.BaseURL, p.Amazon, tt.base, tt.amazon)
				}
			}
		})
	}
}
