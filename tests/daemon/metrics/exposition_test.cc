#include "daemon/metrics/exposition.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "daemon/metrics/label_text.h"
#include "tests/daemon/metrics/exposition_text.h"

namespace optile::daemon {
namespace {

TEST(MetricCatalogue, NamesAreUniqueAndContainUnit) {
  std::set<std::string> names;
  for (const MetricEntry& entry : metric_catalogue()) {
    const std::string name = entry.name;
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(name.ends_with("_total"), entry.type == MetricType::kCounter) << name;
    EXPECT_TRUE(name.starts_with("optile_") || name.starts_with("process_")) << name;
    EXPECT_NE(name.find(entry.unit), std::string::npos) << name;
    EXPECT_EQ(std::string(entry.help).back(), '.') << name;
    for (std::size_t i = 0; i < entry.label_count(); ++i) {
      EXPECT_STRNE(entry.labels[i], "pid");
    }
  }
}

TEST(LabelText, KeepsValidAndReplacesInvalidCharacters) {
  EXPECT_EQ(label_text("aten::mm"), "aten::mm");
  EXPECT_EQ(label_text(""), "unknown");
  EXPECT_EQ(label_text("a\nb\x7f"), "a?b?");
  EXPECT_EQ(label_text("quote\" back\\slash {}"), "quote\" back\\slash {}");
  EXPECT_EQ(label_text("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(label_text("\xc3"), "?");
  EXPECT_EQ(label_text("\xff\xfe"), "??");
  EXPECT_EQ(label_text("\xc0\xaf"), "??");            // longer than it need be
  EXPECT_EQ(label_text("\xed\xa0\x80"), "???");       // a surrogate
  EXPECT_EQ(label_text("\xf4\x90\x80\x80"), "????");  // beyond Unicode
  EXPECT_EQ(label_text("\xc2\x85"), "?");             // a control character of two bytes
  EXPECT_EQ(label_text(std::string("a\0b", 3)), "a?b");
}

TEST(LabelText, TruncatesBetweenCharacters) {
  EXPECT_EQ(label_text(std::string(kMaxLabelBytes, 'x')), std::string(kMaxLabelBytes, 'x'));
  const std::string cut = label_text(std::string(10000, 'x'));
  EXPECT_EQ(cut.size(), kMaxLabelBytes);
  EXPECT_TRUE(cut.ends_with("x..."));
  std::string wide;
  for (int i = 0; i < 100; ++i) wide += "\xf0\x9f\x98\x80";
  for (std::size_t shift = 0; shift < 4; ++shift) {
    const std::string text = label_text(std::string(shift, 'x') + wide);
    EXPECT_LE(text.size(), kMaxLabelBytes);
    EXPECT_TRUE(is_utf8(text)) << shift;
    EXPECT_TRUE(text.ends_with("...")) << shift;
  }
}

TEST(LabelText, ArbitraryBytesGiveValidUtf8) {
  std::mt19937 random(20261121);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes(random() % 200, '\0');
    for (char& c : bytes) {
      c = static_cast<char>(random() % 3 == 0 ? random() : 0x80 + random() % 0x80);
    }
    const std::string text = label_text(bytes);
    ASSERT_TRUE(is_utf8(text)) << round;
    ASSERT_LE(text.size(), kMaxLabelBytes) << round;
  }
}

TEST(Exposition, HostileLabelsAreEscaped) {
  const std::string hostile = "a\"b\\c} 7\n# HELP x";
  std::vector<MetricSample> samples;
  samples.push_back({Metric::kOpSecondsTotal, {"p", label_text(hostile), "", "forward"}, 1.5});
  const std::vector<ExposedSample> read = read_exposition(exposition(samples));
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].labels.at("op"), "a\"b\\c} 7?# HELP x");
  EXPECT_EQ(read[0].value, 1.5);
}

TEST(Exposition, DropsLeastImportantFamiliesWhole) {
  std::vector<MetricSample> samples;
  for (int i = 0; i < 10; ++i) {
    const std::string client = std::to_string(i);
    samples.push_back({Metric::kClientSpeedup, {"p", client, "control"}, 1});
    samples.push_back({Metric::kClientId, {"p", client}, 1});
    samples.push_back({Metric::kClientEventsTotal, {"p", client, "read"}, 1});
  }
  std::vector<MetricSample> all = samples;
  EXPECT_EQ(keep_within(30, all), 0u);
  EXPECT_EQ(all.size(), 30u);
  EXPECT_EQ(keep_within(29, all), 10u);
  ASSERT_EQ(all.size(), 20u);
  for (const MetricSample& sample : all) EXPECT_NE(sample.metric, Metric::kClientEventsTotal);
  EXPECT_EQ(keep_within(19, all), 10u);
  for (const MetricSample& sample : all) EXPECT_EQ(sample.metric, Metric::kClientSpeedup);
  EXPECT_EQ(keep_within(3, all), 10u);
  EXPECT_TRUE(all.empty());
}

}  // namespace
}  // namespace optile::daemon
