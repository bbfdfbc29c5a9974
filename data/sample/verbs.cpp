#include <algorithm>
#include <array>

#include "base/error.h"
#include "data/sample/lexicon.h"

namespace weft::sample {
namespace {

constexpr uint32_t kGoods = kText | kFood | kThing;  // what one buys and sells
constexpr uint32_t kLiving = kPerson | kAnimal;

constexpr auto kTransitive = std::to_array<Verb>({
    {"see", "sees", "saw", "seen", "seeing", "", "se", "ser", "så", "sett", "", kLiving,
     kLiving | kPlace | kTransport | kThing, kStative},
    {"meet", "meets", "met", "met", "meeting", "", "møte", "møter", "møtte", "møtt", "", kPerson, kPerson, 0},
    {"help", "helps", "helped", "helped", "helping", "", "hjelpe", "hjelper", "hjalp", "hjulpet", "", kPerson, kLiving,
     0},
    {"visit", "visits", "visited", "visited", "visiting", "", "besøke", "besøker", "besøkte", "besøkt", "", kPerson,
     kPerson | kPlace, 0},
    {"know", "knows", "knew", "known", "knowing", "", "kjenne", "kjenner", "kjente", "kjent", "", kPerson, kPerson,
     kStative},
    {"love", "loves", "loved", "loved", "loving", "", "elske", "elsker", "elsket", "elsket", "", kPerson,
     kLiving | kFood, kStative},
    {"call", "calls", "called", "called", "calling", "", "ringe", "ringer", "ringte", "ringt", "til", kPerson, kPerson,
     0},
    {"hear", "hears", "heard", "heard", "hearing", "", "høre", "hører", "hørte", "hørt", "", kLiving,
     kLiving | kTransport, kStative},
    {"follow", "follows", "followed", "followed", "following", "", "følge", "følger", "fulgte", "fulgt", "", kLiving,
     kLiving | kTransport, 0},
    {"thank", "thanks", "thanked", "thanked", "thanking", "", "takke", "takker", "takket", "takket", "", kPerson,
     kPerson, 0},
    {"remember", "remembers", "remembered", "remembered", "remembering", "", "huske", "husker", "husket", "husket", "",
     kPerson, kPerson | kText | kEvent, kStative},
    {"forget", "forgets", "forgot", "forgotten", "forgetting", "", "glemme", "glemmer", "glemte", "glemt", "", kPerson,
     kPerson | kThing | kEvent, kStative},
    {"invite", "invites", "invited", "invited", "inviting", "", "invitere", "inviterer", "inviterte", "invitert", "",
     kPerson, kPerson, 0},
    {"look", "looks", "looked", "looked", "looking", "at", "se", "ser", "så", "sett", "på", kLiving,
     kLiving | kPlace | kThing, 0},
    {"wait", "waits", "waited", "waited", "waiting", "for", "vente", "venter", "ventet", "ventet", "på", kLiving,
     kPerson | kTransport | kText, 0},
    {"talk", "talks", "talked", "talked", "talking", "to", "snakke", "snakker", "snakket", "snakket", "med", kPerson,
     kLiving, 0},
    {"dream", "dreams", "dreamt", "dreamt", "dreaming", "about", "drømme", "drømmer", "drømte", "drømt", "om", kPerson,
     kLiving | kPlace | kFood, 0},
    {"listen", "listens", "listened", "listened", "listening", "to", "lytte", "lytter", "lyttet", "lyttet", "til",
     kPerson, kLiving, 0},
    {"buy", "buys", "bought", "bought", "buying", "", "kjøpe", "kjøper", "kjøpte", "kjøpt", "", kPerson,
     kGoods | kTransport | kPlace | kAnimal, 0},
    {"sell", "sells", "sold", "sold", "selling", "", "selge", "selger", "solgte", "solgt", "", kPerson,
     kGoods | kTransport | kPlace | kAnimal, 0},
    {"find", "finds", "found", "found", "finding", "", "finne", "finner", "fant", "funnet", "", kLiving,
     kLiving | kGoods, kStative},
    {"lose", "loses", "lost", "lost", "losing", "", "miste", "mister", "mistet", "mistet", "", kPerson, kThing | kText,
     kStative},
    {"need", "needs", "needed", "needed", "needing", "", "trenge", "trenger", "trengte", "trengt", "", kPerson,
     kGoods | kTransport | kPerson, kStative},
    {"use", "uses", "used", "used", "using", "", "bruke", "bruker", "brukte", "brukt", "", kPerson, kThing | kTransport,
     0},
    {"carry", "carries", "carried", "carried", "carrying", "", "bære", "bærer", "bar", "båret", "", kPerson,
     kThing | kFood, 0},
    {"wash", "washes", "washed", "washed", "washing", "", "vaske", "vasker", "vasket", "vasket", "", kPerson,
     kThing | kTransport | kAnimal | kOpening, 0},
    {"paint", "paints", "painted", "painted", "painting", "", "male", "maler", "malte", "malt", "", kPerson,
     kAnimal | kThing | kPlace | kOpening, 0},
    {"repair", "repairs", "repaired", "repaired", "repairing", "", "reparere", "reparerer", "reparerte", "reparert", "",
     kPerson, kThing | kTransport | kOpening, 0},
    {"steal", "steals", "stole", "stolen", "stealing", "", "stjele", "stjeler", "stjal", "stjålet", "", kLiving,
     kFood | kThing, 0},
    {"borrow", "borrows", "borrowed", "borrowed", "borrowing", "", "låne", "låner", "lånte", "lånt", "", kPerson,
     kText | kThing | kTransport, 0},
    {"draw", "draws", "drew", "drawn", "drawing", "", "tegne", "tegner", "tegnet", "tegnet", "", kPerson,
     kLiving | kPlace | kTransport, 0},
    {"hide", "hides", "hid", "hidden", "hiding", "", "gjemme", "gjemmer", "gjemte", "gjemt", "", kLiving,
     kText | kFood | kThing, 0},
    {"choose", "chooses", "chose", "chosen", "choosing", "", "velge", "velger", "valgte", "valgt", "", kPerson,
     kGoods | kPerson, 0},
    {"like", "likes", "liked", "liked", "liking", "", "like", "liker", "likte", "likt", "", kPerson,
     kLiving | kGoods | kPlace | kEvent, kStative},
    {"open", "opens", "opened", "opened", "opening", "", "åpne", "åpner", "åpnet", "åpnet", "", kPerson,
     kOpening | kText, 0},
    {"close", "closes", "closed", "closed", "closing", "", "lukke", "lukker", "lukket", "lukket", "", kPerson,
     kOpening | kText, 0},
    {"build", "builds", "built", "built", "building", "", "bygge", "bygger", "bygde", "bygd", "", kPerson,
     kPlace | kTransport, 0},
    {"write", "writes", "wrote", "written", "writing", "", "skrive", "skriver", "skrev", "skrevet", "", kPerson, kText,
     0},
    {"read", "reads", "read", "read", "reading", "", "lese", "leser", "leste", "lest", "", kPerson, kText,
     kSameEnglishPast},
    {"understand", "understands", "understood", "understood", "understanding", "", "forstå", "forstår", "forsto",
     "forstått", "", kPerson, kPerson | kText | kEvent, kStative},
    {"translate", "translates", "translated", "translated", "translating", "", "oversette", "oversetter", "oversatte",
     "oversatt", "", kPerson, kText, 0},
    {"eat", "eats", "ate", "eaten", "eating", "", "spise", "spiser", "spiste", "spist", "", kLiving, kFood, 0},
    {"smell", "smells", "smelled", "smelled", "smelling", "", "lukte", "lukter", "luktet", "luktet", "", kAnimal,
     kFood | kLiving, kStative},
    {"plan", "plans", "planned", "planned", "planning", "", "planlegge", "planlegger", "planla", "planlagt", "",
     kPerson, kEvent, 0},
});

constexpr auto kIntransitive = std::to_array<Verb>({
    {"sleep", "sleeps", "slept", "slept", "sleeping", "", "sove", "sover", "sov", "sovet", "", kLiving, 0, 0},
    {"work", "works", "worked", "worked", "working", "", "jobbe", "jobber", "jobbet", "jobbet", "", kPerson, 0,
     kMotion},
    {"live", "lives", "lived", "lived", "living", "", "bo", "bor", "bodde", "bodd", "", kLiving, 0, kStative},
    {"run", "runs", "ran", "run", "running", "", "løpe", "løper", "løp", "løpt", "", kLiving, 0, kMotion},
    {"swim", "swims", "swam", "swum", "swimming", "", "svømme", "svømmer", "svømte", "svømt", "", kLiving, 0, kMotion},
    {"dance", "dances", "danced", "danced", "dancing", "", "danse", "danser", "danset", "danset", "", kPerson, 0,
     kMotion},
    {"laugh", "laughs", "laughed", "laughed", "laughing", "", "le", "ler", "lo", "ledd", "", kPerson, 0, 0},
    {"cry", "cries", "cried", "cried", "crying", "", "gråte", "gråter", "gråt", "grått", "", kPerson, 0, 0},
    {"sit", "sits", "sat", "sat", "sitting", "", "sitte", "sitter", "satt", "sittet", "", kLiving, 0, 0},
    {"stand", "stands", "stood", "stood", "standing", "", "stå", "står", "sto", "stått", "", kLiving, 0, 0},
    {"walk", "walks", "walked", "walked", "walking", "", "gå", "går", "gikk", "gått", "", kLiving, 0, kMotion},
    {"sing", "sings", "sang", "sung", "singing", "", "synge", "synger", "sang", "sunget", "", kPerson | kAnimal, 0, 0},
    {"smile", "smiles", "smiled", "smiled", "smiling", "", "smile", "smiler", "smilte", "smilt", "", kPerson, 0, 0},
    {"rest", "rests", "rested", "rested", "resting", "", "hvile", "hviler", "hvilte", "hvilt", "", kLiving, 0, 0},
    {"study", "studies", "studied", "studied", "studying", "", "studere", "studerer", "studerte", "studert", "",
     kPerson, 0, 0},
});

constexpr auto kGiving = std::to_array<Verb>({
    {"give", "gives", "gave", "given", "giving", "", "gi", "gir", "ga", "gitt", "", kPerson, kText | kFood | kThing, 0},
    {"send", "sends", "sent", "sent", "sending", "", "sende", "sender", "sendte", "sendt", "", kPerson, kText | kThing,
     0},
    {"show", "shows", "showed", "shown", "showing", "", "vise", "viser", "viste", "vist", "", kPerson,
     kText | kThing | kPlace, 0},
    {"lend", "lends", "lent", "lent", "lending", "", "låne", "låner", "lånte", "lånt", "", kPerson, kThing | kTransport,
     0},
});

constexpr auto kDrinking = std::to_array<Verb>({
    {"drink", "drinks", "drank", "drunk", "drinking", "", "drikke", "drikker", "drakk", "drukket", "", kPerson, 0, 0},
    {"order", "orders", "ordered", "ordered", "ordering", "", "bestille", "bestiller", "bestilte", "bestilt", "",
     kPerson, 0, 0},
});

constexpr auto kScheduled = std::to_array<Verb>({
    {"leave", "leaves", "left", "left", "leaving", "", "gå", "går", "gikk", "gått", "", kService, 0, 0},
    {"arrive", "arrives", "arrived", "arrived", "arriving", "", "komme", "kommer", "kom", "kommet", "", kService, 0, 0},
    {"begin", "begins", "began", "begun", "beginning", "", "begynne", "begynner", "begynte", "begynt", "", kEvent, 0,
     0},
    {"end", "ends", "ended", "ended", "ending", "", "slutte", "slutter", "sluttet", "sluttet", "", kEvent, 0, 0},
    {"open", "opens", "opened", "opened", "opening", "", "åpne", "åpner", "åpnet", "åpnet", "", kOpens, 0, 0},
    {"close", "closes", "closed", "closed", "closing", "", "stenge", "stenger", "stengte", "stengt", "", kOpens, 0, 0},
});

constexpr auto kFigures = std::to_array<Verb>({
    {"pay", "pays", "paid", "paid", "paying", "", "betale", "betaler", "betalte", "betalt", "", kPerson, 0, 0},
    {"earn", "earns", "earned", "earned", "earning", "", "tjene", "tjener", "tjente", "tjent", "", kPerson, 0, 0},
    {"cost", "costs", "", "", "", "", "koste", "koster", "", "", "", kText | kFood | kThing, 0,
     kStative | kPresentOnly},
    {"have", "has", "had", "had", "having", "", "ha", "har", "hadde", "hatt", "", kPerson, 0, kStative},
    {"drive", "drives", "drove", "driven", "driving", "", "kjøre", "kjører", "kjørte", "kjørt", "", kPerson, 0, 0},
    {"count", "counts", "counted", "counted", "counting", "", "telle", "teller", "telte", "telt", "", kPerson, 0, 0},
});

constexpr Verb kBe = {"be", "is",  "was",  "been", "being",           "", "være",
                      "er", "var", "vært", "",     kPerson | kAnimal, 0,  kStative};

}  // namespace

std::span<const Verb> transitive_verbs() { return kTransitive; }
std::span<const Verb> intransitive_verbs() { return kIntransitive; }
std::span<const Verb> giving_verbs() { return kGiving; }
std::span<const Verb> drinking_verbs() { return kDrinking; }
std::span<const Verb> scheduled_verbs() { return kScheduled; }
std::span<const Verb> figure_verbs() { return kFigures; }
const Verb& to_be() { return kBe; }

const Verb& verb_named(std::span<const Verb> verbs, std::string_view base) {
  const auto found = std::find_if(verbs.begin(), verbs.end(), [&](const Verb& verb) { return verb.base == base; });
  require<InternalError>(found != verbs.end(), "the sample lexicon has no verb {}", base);
  return *found;
}

}  // namespace weft::sample
