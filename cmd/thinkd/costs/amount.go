package costs

import "fmt"

// USD is an amount with two digits behind the point, and four below ten cents.
func USD(amount float64) string {
	if amount > 0 && amount < 0.1 {
		return fmt.Sprintf("%.4f", amount)
	}
	return fmt.Sprintf("%.2f", amount)
}
