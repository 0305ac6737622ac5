"""Policies that choose ads, in scikit-learn's manner: learnt from a log, used on new visits."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field, fields, replace

import numpy as np

from scant import files
from scant.ads import run
from scant.bandits import learners, scorers
from scant.bandits.learners import LAMBDAS
from scant.bandits.policies import THRESHOLDS, Choice
from scant.bandits.selection import check_share, information_gain
from scant.data import logs
from scant.errors import SettingError, check_name, unknown
from scant.randomness import generator
from scant_ads.policies import encoding, learning, saving
from scant_ads.policies.learning import FOREST, LEARNT, PASSES
from scant_ads.progress import silent
from scant_ads.reading import batches, formats
from scant_ads.reading.log import Log, log_of, visits_of
from scant_ads.reading.visits import Visits

KINDS = {
    int: "a whole number",
    int | None: "a whole number, or None",
    float: "a number",
    str: "a text",
    bool: "true or false",
}
OPTIONS = ("steps", "pair_loss", "trees", "tree_rows", "leaf")  # settings that some kinds have


@dataclass(eq=False, repr=False)
class Policy:
    """A policy that is learnt from a log: it shows each visitor the ad with the largest score.

    Parameters
    ----------
    kind : "logistic", "forest", "auc-ranker", "cost-sensitive-oaa", "filter-tree"; or a
        scikit-learn model, a clone of which is fitted to each ad: a classifier to its clicks, which
        it scores by `predict_proba`, or a regressor to its rewards, by `predict`. Rewards other
        than 0 and 1 are for regressors, and for "forest", "cost-sensitive-oaa" and "filter-tree"
    epsilon : the share of visits in which one of the other ads is shown, drawn uniformly
    lambdas : the grid of regularisation; the best is chosen on rows of the log that are held out.
        Forests and models of your own have none
    validation : the share of rows held out
    threshold : what a ranker's thresholds maximise, "f1", "precision", "recall" or "none"
    select : the share of features kept, by information gain
    standardise : whether features get mean 0 and deviation 1 (never for forests)
    undersample : misses kept for each click, by classifiers; None for all
    steps : of gradient descent for each ad; None for 20 passes over its rows, at least 50,000 and
        at most a million
    pair_loss : of the AUC ranker, "logistic" or "hinge"
    trees, tree_rows, leaf : of a forest: how many trees for each ad, the rows that each learns
        from, and the least rows of a leaf
    seed : of learning

    Attributes
    ----------
    learnt : the encoder of features and the model; None before `fit`
    actions : ids of the ads that it knows; `classes_` is the same as an array
    untrained : ids of the ads that nothing could be learnt about; they are never shown, unless all
        are such
    regularisation : the lambda chosen; NaN without one
    inputs : the files that it was learnt or loaded from, which `save` does not overwrite
    """

    kind: object = "auc-ranker"
    _: KW_ONLY
    epsilon: float = 0.0
    lambdas: Iterable[float] = LAMBDAS
    validation: float = 0.2
    threshold: str = "f1"
    select: float = 1.0
    standardise: bool = True
    undersample: int | None = None
    steps: int | None = None
    pair_loss: str = "logistic"
    trees: int = FOREST["trees"]
    tree_rows: int | None = FOREST["tree_rows"]
    leaf: int = FOREST["leaf"]
    seed: int = 0
    learnt: learning.Learnt | None = field(default=None, init=False)
    inputs: tuple = field(default=(), init=False)

    # --- settings

    @property
    def name(self) -> str:
        """What tables call it: its kind, or the class of a model of your own."""
        return self.kind if isinstance(self.kind, str) else type(self.kind).__name__

    def get_params(self, deep: bool = True) -> dict:
        """The settings by name, as scikit-learn has them; settings of a model of your own are
        `kind__NAME`.
        """
        settings = {part.name: getattr(self, part.name) for part in fields(self) if part.init}
        if deep and not isinstance(self.kind, str):
            settings |= {f"kind__{name}": value for name, value in self.kind.get_params().items()}
        return settings

    def set_params(self, **settings) -> "Policy":
        """Change settings, by name."""
        parameters = self.get_params(deep=False)
        for name, value in settings.items():
            if name.startswith("kind__") and not isinstance(self.kind, str):
                self.kind.set_params(**{name.removeprefix("kind__"): value})
            elif name in parameters:
                setattr(self, name, value)
            else:
                raise unknown("setting of a policy", name, parameters)
        return self

    def __repr__(self) -> str:
        defaults = {part.name: part.default for part in fields(self)}
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params(deep=False).items()
            if name != "kind" and value is not defaults[name] and value != defaults[name]
        ]
        return f"Policy({', '.join([repr(self.kind), *changed])})"

    # --- learning

    @property
    def fitted(self) -> bool:
        return self.learnt is not None

    def fit(self, log, y=None, progress=silent) -> "Policy":
        """Learn from a log, a `Log` or a data frame with the columns of one.

        y : ignored; rewards are a column of the log
        progress : called with a sentence on each step that begins

        Raises
        ------
        SettingError, DataError : settings out of range, or a log that cannot be learnt from
        """
        self.inputs = ()
        if not isinstance(log, Visits):
            log = log_of(log)
            log.check_learnable(progress)
            log, self.inputs = log.learnable.visits, (log.source.path,)
        self.learnt = self._learnt(log, progress=progress)
        return self

    def fitted_to(self, train: Visits, encoded: tuple | None = None, progress=silent) -> "Policy":
        """A copy that is fitted to a log.

        encoded : the encoder of this log, and the log as it encodes it, if they are known
        progress : see `fit`
        """
        copy = type(self)(**self.get_params(deep=False))
        copy.learnt = self._learnt(train, encoded, progress)
        return copy

    def _learnt(
        self, train: Visits, encoded: tuple | None = None, progress=silent
    ) -> learning.Learnt:
        kind, settings = self._checked()
        if encoded is None:
            encoder = encoding.fit(train)
            encoded = encoder, encoder.transform(train)
        encoder, log = encoded
        gains = None
        if self.select < 1:  # of rewards that are no clicks, by what tells those above the mean
            gains = information_gain(log.features, log.reward > log.reward.mean())
        fits = run.fits(
            kind,
            log,
            generator(self.seed, "advice"),
            settings,
            tuple(self.lambdas),
            validation=self.validation,
            threshold=self.threshold,
            select=self.select,
            progress=progress,
            gains=gains,
            loss=learning.log_loss,
        )
        fitted = fits[-1]
        if len(fits) > 1:  # an equal generator parts the log in the same way
            held_out = scorers.split(log, self.validation, generator(self.seed, "advice"))[1]
            fitted = learning.kept_fit(fits, held_out)
        return learning.Learnt(encoder, fitted, train.lists)

    def _checked(self) -> tuple[str | type, scorers.Settings]:
        """The kind of learner, or its class, and the settings of its scorers.

        Raises
        ------
        SettingError : a setting is out of range, or a text, say, where a number is needed
        """
        if isinstance(self.lambdas, str) or not isinstance(self.lambdas, Iterable):
            raise SettingError(f"lambdas are {self.lambdas!r}; they are a list of numbers")
        for setting in [part for part in fields(self) if part.type in KINDS]:
            value, kind = getattr(self, setting.name), setting.type
            value = value.item() if isinstance(value, np.generic) else value
            is_flag = isinstance(value, bool) and kind is not bool
            if is_flag or not isinstance(value, int | float if kind is float else kind):
                raise SettingError(f"{setting.name} is {value!r}; it is {KINDS[kind]}")
        if self.threshold not in THRESHOLDS:
            raise unknown("threshold", self.threshold, THRESHOLDS)
        if not 0 <= self.epsilon <= 1:
            raise SettingError(f"epsilon is {self.epsilon}; a probability is from 0 to 1")
        if not 0 < self.validation < 1:
            raise SettingError(
                f"validation share is {self.validation}; it must be above 0 and below 1"
            )
        check_share(self.select)
        for value in self.lambdas:  # also where the kind has none
            scorers.Settings(regularisation=value)
        options, kind = {name: getattr(self, name) for name in OPTIONS}, self.kind
        options = {name: value for name, value in options.items() if value is not None}
        learners.check_options("forest", options)  # also those that other kinds have
        if isinstance(kind, str):
            check_name("kind of learner", kind, LEARNT)
        else:
            kind, options = learners.of_model(kind), {}
        return kind, scorers.Settings(
            standardise=self.standardise,
            undersample=self.undersample,
            options=options,
            passes=PASSES if self.steps is None else None,
        )

    def _required(self) -> learning.Learnt:
        if self.learnt is None:
            raise SettingError(f"{self!r} has not learnt anything yet: call fit(log) first")
        return self.learnt

    @property
    def actions(self) -> tuple[str, ...]:
        return self._required().actions

    @property
    def classes_(self) -> np.ndarray:
        return np.array(self.actions, object)

    @property
    def untrained(self) -> tuple[str, ...]:
        return self._required().fitted.model.untrained

    @property
    def regularisation(self) -> float:
        return self._required().fitted.regularisation

    @property
    def remarks(self) -> list[str]:
        """Sentences on what could not be learnt as it was meant."""
        untrained = (
            f"ads {', '.join(self.untrained)} had the same reward in all rows of training, such as "
            "no click: shown only if all ads are such"
        )
        on_part = (
            "refitted to all rows it earned less on those that chose lambda, beyond chance: it has "
            "learnt from the other rows alone"
        )
        is_on_part = self._required().fitted.fitted_on == "part"
        return [untrained] * bool(self.untrained) + [on_part] * is_on_part

    # --- files

    def save(self, path) -> None:
        """Write the policy as an Arrow file of numbers and settings; see `saving.save`.

        Raises
        ------
        SettingError : nothing has been learnt yet, the scorer is a model of your own, or the file
            is one that the policy was learnt or loaded from
        """
        files.check_outputs([path], self.inputs)
        saving.save(self, path)

    @classmethod
    def load(cls, path) -> "Policy":
        """Read a policy that `save` wrote. No code of the file is run.

        Raises
        ------
        DataError : no such file, or one that is damaged or no saved policy
        """
        policy = saving.load(path, cls)
        policy.inputs = (path,)
        return policy

    # --- use

    def choice(self, contexts, epsilon: float | None = None) -> Choice:
        """The policy on some visits, as `scant.bandits.policies` has it.

        contexts : a `Log`, or a data frame with the features of the training log, and its lists of
            eligible ads, if it had some; other columns are ignored
        epsilon : of the exploration; None for the policy's own

        Raises
        ------
        DataError : a feature is missing, or is text in one log and numbers in the other
        """
        return self._required().choice(
            self._contexts(contexts), self.epsilon if epsilon is None else epsilon
        )

    def predict(self, contexts) -> np.ndarray:
        """The id of the best ad for each visit, object (rows); see `choice`."""
        return self.classes_[self.choice(contexts).best]

    def predict_proba(self, contexts) -> np.ndarray:
        """The probability with which the policy shows each ad of `classes_`, float64 (rows x ads);
        see `choice`.
        """
        choice = self.choice(contexts)
        ads = np.broadcast_to(np.arange(choice.actions), (len(choice.best), choice.actions))
        return np.stack([choice.probability(column) for column in ads.T], axis=1)

    def score(self, log, y=None) -> float:
        """The importance-weighted click rate on a log (thesis, equation 5.4); `evaluate` says what
        it is worth.
        """
        test = visits_of(log)
        probability = learning.probability(self.choice(test), self.numbered(test))
        return float(np.mean(test.reward * probability / test.propensity))

    def numbered(self, visits: Visits) -> np.ndarray:
        """The index among the policy's ads of each ad shown in a log, int32 (rows); -1 for
        others.
        """
        number = {ad: index for index, ad in enumerate(self.actions)}
        return np.array([number.get(ad, -1) for ad in visits.actions], np.int32)[visits.action]

    def _contexts(self, contexts) -> Visits:
        encoder = self._required().encoder
        if isinstance(contexts, Log | Visits):
            visits = visits_of(contexts)
            kept = [
                index
                for index, name in enumerate(visits.names)
                if name in encoder.names or "=" in name
            ]
            if len(kept) < len(visits.names):
                names = tuple(visits.names[index] for index in kept)
                categories = {
                    name: texts for name, texts in visits.categories.items() if name in names
                }
                visits = replace(
                    visits, features=visits.features[:, kept], names=names, categories=categories
                )
            return logs.align_features(visits, encoder.names)
        learnt = self._required()
        return batches.contexts(
            formats.table_of(contexts), encoder.names, encoder.texts, lists=learnt.lists
        )
