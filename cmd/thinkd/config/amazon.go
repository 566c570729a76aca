package config

import (
	"context"
	"reflect"

	"github.com/thinkd/thinkd/provider/aws"
	"github.com/thinkd/thinkd/provider/vendors"
)

// usualRegion is that of signatures for a gateway, which signs again or does not look. It is the one that Amazon's clients take.
const usualRegion = "us-east-1"

// amazon completes a provider whose models are at Amazon: its address follows from a region, and its requests are signed with the credentials of
// this machine if the file has a section for it and there is no key. Without a section nothing of Amazon's files is read.
func (src *source) amazon(key string, f fileProvider, p *vendors.Config, getenv func(string) string) error {
	if p.Vendor != vendors.Bedrock {
		for name, value := range map[string]string{"region": f.Region, "aws_profile": f.Profile} {
			if value != "" {
				return src.errorf(key+"."+name, "only Amazon Bedrock has it, and this provider has models of %s", p.Vendor)
			}
		}
		return nil
	}
	stated := !reflect.ValueOf(f).IsZero()
	region := f.Region
	switch {
	case region != "" && !aws.ValidRegion(region):
		return src.errorf(key+".region", "must be the name of a region of AWS, such as %q", "eu-central-1")
	case region == "" && stated:
		region = aws.Region(context.Background(), getenv, f.Profile)
	case region == "":
		region = variable(getenv, "AWS_REGION")
	}
	if !aws.ValidRegion(region) {
		region = ""
	}
	if p.BaseURL == "" && region != "" {
		p.BaseURL = aws.Runtime(region)
	}
	if stated {
		if region == "" && p.BaseURL != "" {
			region = usualRegion
		}
		if region == "" {
			return src.errorf(key+".region", "missing; name a region, such as %q, here, in AWS_REGION or in the profile", "eu-central-1")
		}
		p.Amazon = &aws.Settings{Region: region, Profile: f.Profile}
	}
	return nil
}
