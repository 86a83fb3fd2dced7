package workload

import "math"

// The functions of this file give the same bits on every machine, which those of package math do not promise: they use only operations that
// IEEE 754 rounds in one way, and convert each product, so that no compiler fuses it with an addition.

// normalQuantile is the standard normal variable below which a share of u in 2^64 lies, to a relative error of 1.2e-9 (P. J. Acklam's rational
// approximation).
func normalQuantile(u uint64) float64 {
	const tail = 0.02425
	p := (float64(u>>11) + 0.5) / (1 << 53)
	switch {
	case p < tail:
		return normalTail(p)
	case p > 1-tail:
		return -normalTail(1 - p)
	}
	q := p - 0.5
	r := float64(q * q)
	numerator := polynomial(r, -3.969683028665376e+01, 2.209460984245205e+02, -2.759285104469687e+02, 1.383577518672690e+02,
		-3.066479806614716e+01, 2.506628277459239e+00)
	return numerator * q / polynomial(r, -5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02, 6.680131188771972e+01,
		-1.328068155288572e+01, 1)
}

func normalTail(p float64) float64 {
	q := math.Sqrt(-2 * logarithm(p))
	numerator := polynomial(q, -7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00, -2.549732539343734e+00,
		4.374664141464968e+00, 2.938163982698783e+00)
	return numerator / polynomial(q, 7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00, 1)
}

// polynomial is Horner's scheme; the coefficient of the highest power comes first.
func polynomial(x float64, coefficients ...float64) float64 {
	var sum float64
	for _, c := range coefficients {
		sum = float64(sum*x) + c
	}
	return sum
}

// logarithm is the natural logarithm of a positive x: the series of atanh, about 1.
func logarithm(x float64) float64 {
	fraction, exponent := math.Frexp(x)
	if fraction < math.Sqrt2/2 {
		fraction, exponent = 2*fraction, exponent-1
	}
	t := (fraction - 1) / (fraction + 1)
	t2 := float64(t * t)
	var sum float64
	for odd := 23.0; odd >= 1; odd -= 2 {
		sum = float64(sum*t2) + 1/odd
	}
	return float64(2*t*sum) + float64(float64(exponent)*math.Ln2)
}

// exponential is e to the power of x: Taylor's series, within half a power of two.
func exponential(x float64) float64 {
	powers := math.Floor(x/math.Ln2 + 0.5)
	rest := x - float64(powers*math.Ln2)
	sum := 1.0
	for n := 18.0; n >= 1; n-- {
		sum = float64(sum*rest)/n + 1
	}
	return math.Ldexp(sum, int(powers))
}
