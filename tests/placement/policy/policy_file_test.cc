// Saved policies: the same after a round trip, and refused in whatever way they are wrong.
#include "placement/policy/policy_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "placement/policy/policy.h"

namespace optile::placement::policy {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string text_of(Method method) {
  return policy_text(saved_policy(method, 3, *make_policy(method, 3, 11)));
}

std::string refusal_of(const std::string& text) {
  const auto read = read_policy(text);
  return read.ok() ? "" : read.message();
}

TEST(PolicyFile, RestoresEveryParameter) {
  for (const Method method : kPolicies) {
    const auto policy = make_policy(method, 3, 11);
    const auto read = read_policy(policy_text(saved_policy(method, 3, *policy)));
    ASSERT_TRUE(read.ok()) << read.message();
    EXPECT_EQ(read.value().method, method);
    EXPECT_EQ(read.value().devices, 3);
    const auto again = restored_policy(read.value());
    ASSERT_TRUE(again.ok()) << again.message();
    const auto& before = policy->parameters().all();
    const auto& after = again.value()->parameters().all();
    ASSERT_EQ(before.size(), after.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      EXPECT_EQ(before[i].name, after[i].name);
      EXPECT_EQ(before[i].value, after[i].value) << name_of(method) << " " << before[i].name;
    }
  }
}

TEST(PolicyFile, RejectsOtherVersionsMethodsAndShapes) {
  json file = json::parse(text_of(Method::kPlaceto));
  file["optile_policy"] = 2;
  EXPECT_THAT(refusal_of(file.dump()), HasSubstr("version 2"));
  EXPECT_THAT(refusal_of("{}"), HasSubstr("no saved policy"));
  EXPECT_THAT(refusal_of("[]"), HasSubstr("no saved policy"));
  EXPECT_THAT(refusal_of("policy"), HasSubstr("line 1"));
  const SavedPolicy whole = saved_policy(Method::kGdp, 3, *make_policy(Method::kGdp, 3, 1));
  SavedPolicy other = whole;
  other.method = Method::kPlaceto;
  EXPECT_THAT(refusal_of(policy_text(other)), HasSubstr("not those of placeto"));
  other.method = Method::kAuto;
  EXPECT_THAT(refusal_of(policy_text(other)), HasSubstr("no policy named auto"));
  other = whole;
  other.devices = 4;
  EXPECT_THAT(refusal_of(policy_text(other)), HasSubstr("not those of gdp"));
  other.devices = 1'000'000;
  EXPECT_THAT(refusal_of(policy_text(other)), HasSubstr("devices"));
  other = whole;
  other.matrices.pop_back();
  EXPECT_THAT(refusal_of(policy_text(other)), HasSubstr("not those of gdp"));
}

TEST(PolicyFile, RejectsChangedOrTruncatedFiles) {
  const std::string whole = text_of(Method::kPlaceto);
  json file = json::parse(whole);
  file["matrices"][0]["values"][3] = 0.125;
  EXPECT_THAT(refusal_of(file.dump()), HasSubstr("damaged"));
  file["matrices"][0]["values"][3] = nullptr;
  EXPECT_THAT(refusal_of(file.dump()), HasSubstr("matrices[0].values[3]"));
  file["matrices"][0]["values"].erase(3);
  EXPECT_THAT(refusal_of(file.dump()), HasSubstr("matrices[0]"));
  file["matrices"][0] = 7;
  EXPECT_THAT(refusal_of(file.dump()), HasSubstr("matrices[0]"));
  for (std::size_t length = 0; length < whole.size(); length += 997) {
    EXPECT_NE(refusal_of(whole.substr(0, length)), "") << length;
  }
}

}  // namespace
}  // namespace optile::placement::policy
