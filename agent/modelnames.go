package agent

import "slices"

// ModelNames gives the names under which the model can call a server's tools
// now, by the server's own names.
func (a *Agent) ModelNames(server string) map[string]string {
	own, served := a.tools(true)
	nameTools(slices.Concat(own, served))
	names := map[string]string{}
	for _, t := range served {
		if t.server == server {
			names[t.name] = t.model
		}
	}
	return names
}
