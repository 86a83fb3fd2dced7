package service

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Identities asks each URL of the service what it is: see [Service.Identity]. The first answers are what [Service.Changed] holds later ones against.
func (s *Service) Identities(ctx context.Context) ([]Identity, error) {
	all := make([]Identity, len(s.URLs))
	for i, base := range s.URLs {
		var err error
		if all[i], err = s.identityAt(ctx, base); err != nil {
			return nil, err
		}
	}
	if s.known == nil {
		s.known = all
	}
	return all, nil
}

// Changed asks a service that was already running what it is now. An error says that it is something else than when it was first asked, and names both:
// figures from before and after are not of one service. A URL that does not answer, or not with what it did, says nothing: its requests will.
func (s *Service) Changed(ctx context.Context) error {
	if s.child != nil || s.known == nil {
		return nil
	}
	for i, base := range s.URLs {
		now, err := s.identityAt(ctx, base)
		if err != nil {
			continue
		}
		differing := difference("%s was %q and is %q", s.known[i].Facts(), now.Facts())
		if s.known[i].Model != nil && now.Models != nil && now.Model == nil {
			differing = fmt.Sprintf("model was %q and is none of %q", *s.known[i].Model, now.Models)
		}
		if differing != "" {
			return fmt.Errorf("the service at %s is not the one that the run began with: %s", safe(base), differing)
		}
	}
	return nil
}

// Unlike says where the URLs of the service are not alike: other models, or another version, than at the first; nothing where all are. identities are those that
// [Service.Identities] gave.
func (s *Service) Unlike(identities []Identity) (notes []string) {
	for i := 1; i < len(identities); i++ {
		differing := difference("%s %[3]q against %[2]q", identities[0].compared(), identities[i].compared())
		if differing != "" {
			notes = append(notes, fmt.Sprintf("%s is not what %s is: %s", safe(s.URLs[i]), safe(s.URLs[0]), differing))
		}
	}
	return notes
}

// FactsOf are the facts of all URLs: those of the first by their names, those of the others behind url_1_ and so on.
func (s *Service) FactsOf(identities []Identity) map[string]string {
	facts := map[string]string{}
	for i, identity := range identities {
		prefix := ""
		if len(identities) > 1 {
			facts[fmt.Sprintf("url_%d", i)] = safe(s.URLs[i])
		}
		if i > 0 {
			prefix = fmt.Sprintf("url_%d_", i)
		}
		for name, value := range identity.Facts() {
			facts[prefix+name] = value
		}
	}
	return facts
}

// compared are the facts with the list of models.
func (i Identity) compared() map[string]string {
	facts := i.Facts()
	if i.Models != nil {
		facts["models"] = strings.Join(i.Models, ", ")
	}
	return facts
}

// difference names the facts that both have and that are not the same, each as form says of its name and both values.
func difference(form string, first, second map[string]string) string {
	var differing []string
	for _, name := range slices.Sorted(maps.Keys(first)) {
		if other, said := second[name]; said && other != first[name] {
			differing = append(differing, fmt.Sprintf(form, name, first[name], other))
		}
	}
	return strings.Join(differing, "; ")
}
