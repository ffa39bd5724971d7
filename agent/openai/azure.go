package openai

import (
	"net/url"
	"strings"
)

// azureKeyHeader takes an API key of Azure; a token of Entra ID is a bearer
// token, and given as a header.
const azureKeyHeader = "api-key"

// The versions of Azure's older API: of completions, and the last whose list of
// deployments a key may read.
const (
	azureVersion     = "2024-10-21"
	azureListVersion = "2022-12-01"
)

// isAzure reports whether an address is one of Azure's own.
func isAzure(u *url.URL) bool {
	host := strings.ToLower(u.Hostname())
	for _, end := range []string{".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"} {
		if strings.HasSuffix(host, end) {
			return true
		}
	}
	return false
}

// settleAzure completes what people write for a resource of Azure. Its address
// alone means the v1 API, which knows the deployment by the model's name; with
// an api-version in the query it means the older one, which has the deployment
// in its path.
func settleAzure(u *url.URL, deployment string) {
	q := u.Query()
	dated := strings.HasPrefix(q.Get("api-version"), "20")
	switch bare := u.Path == "" || u.Path == "/openai"; {
	case bare && dated:
		if u.Path = "/openai"; deployment != "" {
			u.Path += "/deployments/" + deployment
		}
	case bare:
		u.Path = "/openai/v1"
	case strings.HasPrefix(u.Path, "/openai/deployments/") && q.Get("api-version") == "":
		q.Set("api-version", azureVersion)
		u.RawQuery = q.Encode()
	}
}

// azureLists are where a resource lists its deployments, and where it lists the
// models that it could deploy.
func azureLists(u *url.URL) []string {
	deployments, models := *u, *u
	deployments.Path, deployments.RawQuery = "/openai/deployments", url.Values{"api-version": {azureListVersion}}.Encode()
	if at := strings.Index(models.Path, "/deployments"); at >= 0 {
		models.Path = models.Path[:at]
	}
	models.Path += "/models"
	return []string{deployments.String(), models.String()}
}
