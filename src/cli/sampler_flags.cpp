// Implements cli/sampler_flags.h.
#include "lamella/cli/sampler_flags.h"

#include <cstdint>
#include <limits>

#include "lamella/base/error.h"
#include "lamella/base/text.h"

namespace lamella::cli {
namespace {

constexpr double kAny = 1e6;

// "ID=BIAS"; "ID=-inf" rules the token out.
LogitBias parse_bias(const std::string& text) {
  const size_t equals = text.find('=');
  const auto id = parse_int(std::string_view(text).substr(0, equals));
  const std::string value = equals == text.npos ? "" : text.substr(equals + 1);
  const auto bias =
      value == "-inf" ? std::optional(-std::numeric_limits<float>::infinity()) : parse_float(value);
  CHECK_USER(id && *id >= 0 && *id <= INT32_MAX && bias, "--logit-bias: got '", printable(text, 60),
             "'; want ID=NUMBER or ID=-inf");
  return {static_cast<int32_t>(*id), *bias};
}

}  // namespace

void add_sampler_flags(Command& c, SamplerFlags& f) {
  c.number("--temp", "T", f.temperature, {0}, "temperature; 0 takes the likeliest token");
  c.integer("--top-k", "K", f.top_k, {0}, "only among the K likeliest tokens; 0 is all");
  c.number("--top-p", "P", f.top_p, {0, 1}, "only among the likeliest that make up P");
  c.number("--min-p", "P", f.min_p, {0, 1},
           "only those at least P times as likely as the likeliest");
  c.number("--typical-p", "P", f.typical_p, {0, 1}, "only the most typical that make up P");
  c.number("--repeat-penalty", "X", f.repeat_penalty, {1e-6, kAny},
           "divides logits of tokens seen; 1 is none");
  c.number("--presence-penalty", "X", f.presence_penalty, {-kAny, kAny},
           "taken from the logit of a token seen");
  c.number("--frequency-penalty", "X", f.frequency_penalty, {-kAny, kAny},
           "taken as often as it was seen");
  c.integer("--penalty-last", "N", f.penalty_last, {-1},
            "tokens that the penalties look back; -1 is all");
  c.number("--dry", "X", f.dry_multiplier, {0, kAny},
           "penalty of going on as before: X * base^(length - allowed); 0 is none");
  c.number("--dry-base", "B", f.dry_base, {1, kAny}, "its base");
  c.integer("--dry-length", "N", f.dry_length, {0}, "the length that it allows");
  c.integer("--mirostat", "V", f.mirostat, {0, 2},
            "keeps surprise near a target: version 1 or 2; 0 is off");
  c.number("--mirostat-tau", "BITS", f.mirostat_tau, {0, kAny}, "the target");
  c.number("--mirostat-eta", "X", f.mirostat_eta, {0, 1}, "how fast it is followed");
  c.texts("--logit-bias", "ID=X", f.bias, "added to the logit of a token; may be given often");
  c.texts("--stop", "TEXT", f.stop, "ends the answer before this text; may be given often");
  c.integer("--seed", "N", f.seed, {0}, "seed of the choice");
}

SamplerOptions sampler_options(const SamplerFlags& f) {
  const auto narrow = [](double x) { return static_cast<float>(x); };
  SamplerOptions o{.temperature = narrow(f.temperature),
                   .top_k = f.top_k,
                   .top_p = narrow(f.top_p),
                   .min_p = narrow(f.min_p),
                   .typical_p = narrow(f.typical_p),
                   .repeat_penalty = narrow(f.repeat_penalty),
                   .presence_penalty = narrow(f.presence_penalty),
                   .frequency_penalty = narrow(f.frequency_penalty),
                   .penalty_last = f.penalty_last,
                   .seed = f.seed};
  o.dry.multiplier = narrow(f.dry_multiplier);
  o.dry.base = narrow(f.dry_base);
  o.dry.allowed_length = f.dry_length;
  o.mirostat = {f.mirostat, narrow(f.mirostat_tau), narrow(f.mirostat_eta)};
  for (const std::string& text : f.bias) o.bias.push_back(parse_bias(text));
  check_options(o);
  return o;
}

}  // namespace lamella::cli
