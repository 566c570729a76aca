package vendors

import (
	"net"
	"strconv"
	"strings"
)

// OllamaAddress is the value of OLLAMA_HOST as a base URL: it may lack the scheme, the port or the host, and it may name
// all of a machine's interfaces, which is where a server listens and no address to call (docs: faq).
func OllamaAddress(host string) string {
	if host == "" {
		return ""
	}
	scheme, rest, ok := strings.Cut(host, "://")
	if !ok {
		scheme, rest = "http", host
	}
	rest, path, _ := strings.Cut(rest, "/")
	name, port, err := net.SplitHostPort(rest)
	if err != nil {
		name, port = strings.Trim(rest, "[]"), "11434"
		if ok {
			port = map[string]string{"http": "80", "https": "443"}[scheme]
		}
	}
	if ip := net.ParseIP(name); name == "" || ip != nil && ip.IsUnspecified() {
		name = "127.0.0.1"
	}
	return strings.TrimRight(scheme+"://"+net.JoinHostPort(name, port)+"/"+path, "/")
}

// OllamaContext is the window that OLLAMA_CONTEXT_LENGTH names, with which a server loads its models; 0: none. What is no
// number is ignored, as the server does (docs: context-length).
func OllamaContext(getenv func(string) string) int {
	n, err := strconv.Atoi(strings.TrimSpace(getenv("OLLAMA_CONTEXT_LENGTH")))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// AzureAddress is the value of AZURE_OPENAI_ENDPOINT as a base URL: the vendor's own clients take a resource's address, to
// which the path of the v1 API belongs (Azure docs: api-version-lifecycle).
func AzureAddress(endpoint string) string {
	endpoint = strings.TrimRight(endpoint, "/")
	if endpoint == "" || strings.HasSuffix(endpoint, "/openai/v1") {
		return endpoint
	}
	return endpoint + "/openai/v1"
}

// GoogleAddress is the base URL of a project at a location of Google Cloud: a region, a multi-region (us, eu) or global. host is another
// host than the location's, such as the one of a private connection, with or without the version of the API behind it; empty: the
// location's. An address that names a project already stays as it is (@anthropic-ai/vertex-sdk 1.1.3: client.js).
func GoogleAddress(host, project, location string) string {
	host = strings.TrimRight(host, "/")
	if strings.Contains(host, "/projects/") {
		return host
	}
	if host == "" {
		switch location {
		case "global":
			host = "https://aiplatform.googleapis.com"
		case "us", "eu":
			host = "https://aiplatform." + location + ".rep.googleapis.com"
		default:
			host = "https://" + location + "-aiplatform.googleapis.com"
		}
	}
	if !strings.HasSuffix(host, "/v1") && !strings.HasSuffix(host, "/v1beta1") {
		host += "/v1"
	}
	return host + "/projects/" + project + "/locations/" + location
}
