package workload

import (
	"math"
	"strings"
	"testing"
)

func constant(n int64) Distribution { return Distribution{Constant: &n} }

func uniform(least, most int64) Distribution { return Distribution{Uniform: &Range{least, most}} }

// drawn is the mean and the deviation of 10,000 numbers whose quantiles are spread evenly.
func drawn(d Distribution) (mean, std float64) {
	const n = 10_000
	var sum, squares float64
	for i := range n {
		x := float64(d.quantile(uint64((float64(i) + 0.5) / n * (1 << 63) * 2)))
		sum += x
		squares += x * x
	}
	mean = sum / n
	return mean, math.Sqrt(squares/n - mean*mean)
}

func TestDistributionsAreAsDeclared(t *testing.T) {
	for name, c := range map[string]struct {
		d         Distribution
		mean, std float64
	}{
		"constant":  {constant(7), 7, 0},
		"uniform":   {uniform(100, 300), 200, math.Sqrt((201*201 - 1) / 12.0)},
		"normal":    {Distribution{Normal: &Spread{Mean: 1000, Std: 200}}, 1000, 200},
		"lognormal": {Distribution{Lognormal: &Spread{Mean: 800, Std: 400}}, 800, 400},
		"weighted":  {Distribution{Weighted: []Weighted{{10, 1}, {20, 3}}}, 17.5, math.Sqrt(18.75)},
	} {
		if err := c.d.check(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		mean, std := drawn(c.d)
		if math.Abs(mean-c.mean) > c.mean/100 || math.Abs(std-c.std) > c.std/100 {
			t.Errorf("%s: mean %v and deviation %v, declared %v and %v", name, mean, std, c.mean, c.std)
		}
	}
}

func TestDrawsFollowTheQuantiles(t *testing.T) {
	random := newKey("test").stream(0)
	d := uniform(0, 9)
	var seen [10]int
	for range 10_000 {
		seen[d.draw(random)]++
	}
	for n, count := range seen {
		if count < 850 || count > 1150 {
			t.Errorf("%d was drawn %d times of 10,000, about 1,000 are likely", n, count)
		}
	}
}

func TestSpreadsKeepTheirBounds(t *testing.T) {
	for _, d := range []Distribution{
		{Normal: &Spread{Mean: 50, Std: 100, Min: 10, Max: 90}}, {Lognormal: &Spread{Mean: 50, Std: 100, Min: 10, Max: 90}},
	} {
		if least, most := d.quantile(0), d.quantile(math.MaxUint64); least != 10 || most != 90 {
			t.Errorf("from %d to %d", least, most)
		}
	}
	wide := Distribution{Lognormal: &Spread{Mean: 1e300, Std: 1e300}}
	if got := wide.quantile(math.MaxUint64); got != 1<<53 {
		t.Errorf("a huge number is %d", got)
	}
}

func TestBadDistributionsAreRefused(t *testing.T) {
	two := constant(1)
	two.Uniform = &Range{1, 2}
	for want, d := range map[string]Distribution{
		"exactly one":                     {},
		"exactly one of":                  two,
		"constant must be at least 0":     constant(-1),
		"uniform: min":                    uniform(5, 4),
		"normal: mean must be above 0":    {Normal: &Spread{Std: 1}},
		"lognormal: mean must be above 0": {Lognormal: &Spread{Mean: math.NaN()}},
		"normal: min must be at least 0":  {Normal: &Spread{Mean: 5, Min: 5, Max: 4}},
		"weights at least 1":              {Weighted: []Weighted{{1, 0}}},
	} {
		if err := d.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", d, err, want)
		}
	}
}

// The functions of quantile.go stand for those of package math, to the last few bits.
func TestQuantileFunctionsAgainstPackageMath(t *testing.T) {
	for _, x := range []float64{1e-300, 1e-9, 0.3, 0.5, 0.7071, 1, 1.5, 10, 12345.678, 1e200} {
		if got, want := logarithm(x), math.Log(x); math.Abs(got-want) > 1e-14*math.Max(1, math.Abs(want)) {
			t.Errorf("logarithm(%v) = %v, want %v", x, got, want)
		}
	}
	for _, x := range []float64{-300, -20.5, -1, -1e-9, 0, 0.34, 1, 2.5, 77.7, 500} {
		if got, want := exponential(x), math.Exp(x); math.Abs(got-want) > 1e-13*want {
			t.Errorf("exponential(%v) = %v, want %v", x, got, want)
		}
	}
	for _, p := range []float64{1e-9, 0.001, 0.02, 0.03, 0.25, 0.5, 0.75, 0.975, 0.99, 0.999999} {
		got, want := normalQuantile(uint64(p*(1<<53))<<11), math.Sqrt2*math.Erfinv(2*p-1)
		if math.Abs(got-want) > 1e-6*math.Max(1, math.Abs(want)) {
			t.Errorf("normalQuantile(%v) = %v, want %v", p, got, want)
		}
	}
}
