package workload

import (
	"context"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"sweetspot/runner/measure"
	"sweetspot/schema"
)

func saltOf(t testing.TB, r Request) string {
	t.Helper()
	var body struct {
		Salt  string `json:"cache_salt"`
		Model string `json:"model"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil || body.Model != "m" {
		t.Fatalf("%v: %s", err, r.Body)
	}
	return body.Salt
}

func salted(spec schema.Spec) schema.Spec {
	spec.Request.CacheSalt = true
	return spec
}

// A salt stands at the top level of the body and in the place of the nonce: a nested one is ignored in silence.
func TestSaltsIsolateInThePlaceOfNonces(t *testing.T) {
	for _, spec := range []schema.Spec{salted(fixedSpec(256, "isolated")), salted(randomSpec(256, "isolated"))} {
		rapid.Check(t, func(rt *rapid.T) {
			a, b := drawOrigin(rt, "a"), drawOrigin(rt, "b")
			if one, two := saltOf(t, requestOf(t, spec, a)), saltOf(t, requestOf(t, spec, b)); (one == two) != (a == b) || one == "" {
				rt.Errorf("%+v and %+v have the salts %s and %s", a, b, one, two)
			}
		})
		base := origin{Seed{Trial: "a", Run: "3f9a1c02"}, measure.Measured, 7}
		other := base
		other.seed.Run = "ffffffff"
		if one, two := words(t, requestOf(t, spec, base)), words(t, requestOf(t, spec, other)); len(one) != len(two) || one[0] != two[0] || one[9] != two[9] {
			t.Errorf("the texts of two runs begin with %q and %q", one[:10], two[:10])
		}
		source, err := New(spec, base.seed, Calibration{})
		if err != nil {
			t.Fatal(err)
		}
		if salt := saltOf(t, source.Probe(300, 1)); salt == "" || salt == saltOf(t, requestAt(t, source, measure.Measured, 0)) {
			t.Errorf("the context probe has the salt %q", salt)
		}
	}
	shared, err := New(salted(fixedSpec(256, "shared")), Seed{}, Calibration{})
	if err != nil {
		t.Fatal(err)
	}
	if salt := saltOf(t, requestAt(t, shared, measure.Measured, 0)); salt != "" {
		t.Errorf("a shared prompt has the salt %q", salt)
	}
}

// A session tree has one salt: its later turns find what its earlier ones left in the cache.
func TestASessionHasOneSalt(t *testing.T) {
	tree := treeSpec()
	tree.Workload.Tree.Depth, tree.Workload.Tree.ForkWidth = 1, number(2)
	for name, spec := range map[string]schema.Spec{"sessions": sessionsSpec("recorded", nil), "tree": tree} {
		source, err := New(salted(spec), Seed{Run: "3f9a1c02"}, Calibration{})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]int64{}
		for i := range int64(20) {
			session, err := source.Session(measure.Measured, i)
			if err != nil {
				t.Fatal(err)
			}
			eachRequest(t, session, nil, func(r Request) {
				salt := saltOf(t, r)
				if of, met := seen[salt]; met && of != i || salt == "" {
					t.Errorf("%s: sessions %d and %d have the salt %q", name, of, i, salt)
				}
				seen[salt] = i
			})
		}
		if len(seen) != 20 {
			t.Errorf("%s: %d salts for 20 sessions", name, len(seen))
		}
	}
}

// eachRequest makes every request of a tree, with empty answers.
func eachRequest(t testing.TB, s *Session, answers []Answer, visit func(Request)) {
	t.Helper()
	for _, turn := range s.Turns {
		request, err := turn.Build(answers)
		if err != nil {
			t.Fatal(err)
		}
		visit(request)
		answers = append(answers, Answer{})
		for _, fork := range turn.Forks {
			var begun []Answer
			if fork.Inherits {
				begun = answers[:len(answers):len(answers)]
			}
			eachRequest(t, fork.Session, begun, visit)
		}
	}
}

// The calibration's requests are salted too: they show before the run whether the service takes the field.
func TestCalibrationIsSalted(t *testing.T) {
	k := tokenizers(t)[0]
	sent, salts := 0, 0
	count := k.counter(&sent)
	_, err := Calibrate(t.Context(), salted(randomSpec(300, "isolated")), Seed{Run: "x"}, 0, func(ctx context.Context, r Request) (int64, error) {
		if saltOf(t, r) != "" {
			salts++
		}
		return count(ctx, r)
	})
	if err != nil || salts == 0 || salts != sent {
		t.Errorf("%d of %d requests were salted, %v", salts, sent, err)
	}
}
