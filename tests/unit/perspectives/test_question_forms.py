"""What the rules make of questions in many forms: the sides, and nothing else."""

from __future__ import annotations

import pytest

from perspective_rag.perspectives.find import as_statement_about
from perspective_rag.perspectives.reading import extract_by_rule
from perspective_rag.perspectives.statements import sound, sound_sides

SIDES = {
    "in other words": {
        "Ought the pier to be rebuilt?": ("The pier should be rebuilt", "The pier should not be rebuilt"),
        "if we stopped eating eggs would hens suffer less?": ("If we stopped eating eggs, hens would suffer less", "If we stopped eating eggs, hens would not suffer less"),
        "does chewing gum help memory or is that a myth?": ("Chewing gum helps memory", "Chewing gum does not help memory"),
        "To what extent are banks responsible for debt?": ("Banks are responsible for debt", "Banks are not responsible for debt"),
        "The council is planning to close our pool. Should it stay open?": ("The pool should stay open", "The pool should not stay open"),
        "Some say chess should be compulsory. Others disagree.": ("Chess should be compulsory", "Chess should not be compulsory"),
        "I've argued with a friend about whether dishwashers save water, who's right?": ("Dishwashers save water", "Dishwashers do not save water"),
        "People keep saying robots will run farms. Will they?": ("Robots will run farms", "Robots will not run farms"),
        "Is Latin becoming too rare?": ("Latin is becoming too rare", "Latin is not becoming too rare"),
        "Do you agree with the council that the fair is a nuisance?": ("The fair is a nuisance", "The fair is not a nuisance"),
    },
    "plain": {
        'Is the enforcement of a public smoking ban a straightforward process?': ('The enforcement of a public smoking ban is a straightforward process', 'The enforcement of a public smoking ban is not a straightforward process'),
        'Should a hospital stay be limited?': ('A hospital stay should be limited', 'A hospital stay should not be limited'),
        "Isn't it time to end tipping?": ('It is time to end tipping', 'It is not time to end tipping'),
        'Is Jesus the Messiah?': ('Jesus is the Messiah', 'Jesus is not the Messiah'),
        'Are older leaders wiser than younger ones?': ('Older leaders are wiser than younger ones', 'Older leaders are not wiser than younger ones'),
        'Is the city doing a good job on housing?': ('The city is doing a good job on housing', 'The city is not doing a good job on housing'),
        'Was the moon landing faked?': ('The moon landing was faked', 'The moon landing was not faked'),
        'Do noisy streets infuriate neighbours?': ('Noisy streets infuriate neighbours', 'Noisy streets do not infuriate neighbours'),
        'Do the benefits of the web outweigh its harms?': ('The benefits of the web outweigh its harms', 'The benefits of the web do not outweigh its harms'),
        'Does this law protect anybody?': ('This law protects somebody', 'This law does not protect anybody'),
        'Was the war about oil?': ('The war was about oil', 'The war was not about oil'),
    },
    "should": {
        "Should supermarkets donate unsold food?": ("Supermarkets should donate unsold food", "Supermarkets should not donate unsold food"),
        "Should a company whose products kill people sponsor sports?": ("A company whose products kill people should sponsor sports", "A company whose products kill people should not sponsor sports"),
        "Should companies that people depend on be nationalised?": ("Companies that people depend on should be nationalised", "Companies that people depend on should not be nationalised"),
        "Should hunting with dogs remain illegal?": ("Hunting with dogs should remain illegal", "Hunting with dogs should not remain illegal"),
        "Should the driving age be raised to 21": ("The driving age should be raised to 21", "The driving age should not be raised to 21"),
        "Should cars over 2.5 tonnes be banned?": ("Cars over 2.5 tonnes should be banned", "Cars over 2.5 tonnes should not be banned"),
    },
    "modal and do": {
        "Would banning plastic bags hurt small shops?": ("Banning plastic bags would hurt small shops", "Banning plastic bags would not hurt small shops"),
        "Does climate change cause wars?": ("Climate change causes wars", "Climate change does not cause wars"),
        "Did the Romans ruin Britain?": ("The Romans ruined Britain", "The Romans did not ruin Britain"),
        "Can capitalism be green?": ("Capitalism can be green", "Capitalism cannot be green"),
        "Has the internet destroyed privacy?": ("The internet has destroyed privacy", "The internet has not destroyed privacy"),
        "Must doctors report drunk drivers?": ("Doctors must report drunk drivers", "Doctors do not have to report drunk drivers"),
        "Does religion still matter?": ("Religion still matters", "Religion no longer matters"),
        "Do strikes ever work?": ("Strikes sometimes work", "Strikes never work"),
    },
    "be": {
        "Is gambling just a tax on the poor?": ("Gambling is just a tax on the poor", "Gambling is not just a tax on the poor"),
        "Are tall people at an advantage in politics?": ("Tall people are at an advantage in politics", "Tall people are not at an advantage in politics"),
        "Is teaching children at home better than school?": ("Teaching children at home is better than school", "Teaching children at home is not better than school"),
        "Is property theft?": ("Property is theft", "Property is not theft"),
        "Is the church in Poland in decline?": ("The church in Poland is in decline", "The church in Poland is not in decline"),
        "Are reality shows ruining television?": ("Reality shows are ruining television", "Reality shows are not ruining television"),
        "Is there any evidence that acupuncture works?": ("There is some evidence that acupuncture works", "There is no evidence that acupuncture works"),
        "Are there too many people on Earth?": ("There are too many people on Earth", "There are not too many people on Earth"),
        "Is it fair that footballers earn millions?": ("It is fair that footballers earn millions", "It is not fair that footballers earn millions"),
    },
    "quantifiers": {
        "Must every new house have solar panels?": ("Every new house must have solar panels", "Not every new house has to have solar panels"),
        "Should anyone be allowed to own a tiger?": ("Anyone should be allowed to own a tiger", "No one should be allowed to own a tiger"),
        "Is too much money spent on defence?": ("Too much money is spent on defence", "It is not true that too much money is spent on defence"),
        "Should all drugs be legal?": ("All drugs should be legal", "Not all drugs should be legal"),
        "Should only adults ride scooters?": ("Only adults should ride scooters", "It is not true that only adults should ride scooters"),
        "Nobody needs a private jet.": ("Nobody needs a private jet", "It is not true that nobody needs a private jet"),
    },
    "leading and negated": {
        "Shouldn't billionaires pay for climate damage?": ("Billionaires should pay for climate damage", "Billionaires should not pay for climate damage"),
        "Isn't it cruel to keep parrots in cages?": ("It is cruel to keep parrots in cages", "It is not cruel to keep parrots in cages"),
        "Why is fast fashion so harmful?": ("Fast fashion is harmful", "Fast fashion is not harmful"),
        "When will politicians admit that the war on drugs has failed?": ("The war on drugs has failed", "The war on drugs has not failed"),
        "Everyone knows that breakfast television is trash, right?": ("Breakfast television is trash", "Breakfast television is not trash"),
    },
    "surveys": {
        "How much, if at all, do you agree that immigration strengthens the economy?": ("Immigration strengthens the economy", "Immigration does not strengthen the economy"),
        "Do you agree or disagree with the statement: men should share housework equally?": ("Men should share housework equally", "Men should not share housework equally"),
        "On a scale of 1 to 10, how strongly do you agree that art should be publicly funded?": ("Art should be publicly funded", "Art should not be publicly funded"),
        "The minimum wage should be 20 dollars - agree or disagree?": ("The minimum wage should be 20 dollars", "The minimum wage should not be 20 dollars"),
        "Do you favor or oppose allowing teachers to carry guns?": ("Allowing teachers to carry guns is a good idea", "Allowing teachers to carry guns is not a good idea"),
        "How safe is nuclear power?": ("Nuclear power is safe", "Nuclear power is not safe"),
        "Do you personally believe ghosts exist?": ("Ghosts exist", "Ghosts do not exist"),
    },
    "embedded": {
        "I'm not sure whether homework helps children": ("Homework helps children", "Homework does not help children"),
        "My teacher says that Shakespeare is overrated. Is she right?": ("Shakespeare is overrated", "Shakespeare is not overrated"),
        "I read that coffee prevents dementia, is that true?": ("Coffee prevents dementia", "Coffee does not prevent dementia"),
        "Whether or not zoos should exist": ("Zoos should exist", "Zoos should not exist"),
        "Experts disagree on whether the minimum wage costs jobs.": ("The minimum wage costs jobs", "The minimum wage does not cost jobs"),
        "Can you tell me whether organic food is healthier?": ("Organic food is healthier", "Organic food is not healthier"),
    },
    "context": {
        "Wolves have returned to the Alps. Are they a danger to farmers?": ("Wolves are a danger to farmers", "Wolves are not a danger to farmers"),
        "I moved to Berlin last year. Rents here are insane. Should they be frozen?": ("Rents should be frozen", "Rents should not be frozen"),
        "Our village pub closed in March. Would a community buyout save it?": ("A community buyout would save the village pub", "A community buyout would not save the village pub"),
        "Given the cost of living, should students get free lunches?": ("Students should get free lunches", "Students should not get free lunches"),
        "If a robot hurts someone, should its maker go to jail?": ("If a robot hurts someone, its maker should go to jail", "If a robot hurts someone, its maker should not go to jail"),
        "Cold Comfort: Is Wild Swimming Really Good For You?": ("Wild swimming is good for you", "Wild swimming is not good for you"),
    },
    "debates": {
        "THW ban private cars in city centres": ("We should ban private cars in city centres", "We should not ban private cars in city centres"),
        "This house believes that sport should be free of politics": ("Sport should be free of politics", "Sport should not be free of politics"),
        "This house believes in city farms": ("City farms are a good idea", "City farms are not a good idea"),
        "Resolved: that the Senate should be abolished": ("The Senate should be abolished", "The Senate should not be abolished"),
        "That the council be dissolved.": ("The council should be dissolved", "The council should not be dissolved"),
        "Resolved: that the pier not be sold": ("The pier should not be sold", "The pier should be sold"),
        "What do the tenants say for and against the new lift?": ("The new lift is a good idea", "The new lift is not a good idea"),
        "Pros and cons of nuclear power": ("Nuclear power is a good idea", "Nuclear power is not a good idea"),
        "Euthanasia: for and against": ("Euthanasia is a good idea", "Euthanasia is not a good idea"),
        "Debate topic: should zoos exist?": ("Zoos should exist", "Zoos should not exist"),
    },
    "statements and demands": {
        "Store nuclear waste underground": ("We should store nuclear waste underground", "We should not store nuclear waste underground"),
        "Abolish standardised tests in schools": ("We should abolish standardised tests in schools", "We should not abolish standardised tests in schools"),
        "Pay nurses based on their hours": ("We should pay nurses based on their hours", "We should not pay nurses based on their hours"),
        "Cats Should Be Kept Out Of City Parks": ("Cats should be kept out of city parks", "Cats should not be kept out of city parks"),
        "Wind is a source which we should use": ("Wind is a source which we should use", "Wind is not a source which we should use"),
        "Stop building motorways.": ("We should stop building motorways", "We should not stop building motorways"),
        "Ban cars from city centres": ("We should ban cars from city centres", "We should not ban cars from city centres"),
        "Don't teach religion in schools": ("We should not teach religion in schools", "We should teach religion in schools"),
        "Schools teach too little history.": ("Schools teach too little history", "Schools do not teach too little history"),
        "Free speech matters more than safety.": ("Free speech matters more than safety", "Free speech does not matter more than safety"),
        "The rich do not pay enough tax": ("The rich do not pay enough tax", "The rich pay enough tax"),
    },
    "long and nested": {
        "Is surgery risky to those cared for by a nurse wanting to help?": ("Surgery is risky to those cared for by a nurse wanting to help", "Surgery is not risky to those cared for by a nurse wanting to help"),
        "Is the sale of the port a wise step to attract growing firms?": ("The sale of the port is a wise step to attract growing firms", "The sale of the port is not a wise step to attract growing firms"),
        "Is Chile quietly hiding toxic waste left by mines?": ("Chile is quietly hiding toxic waste left by mines", "Chile is not quietly hiding toxic waste left by mines"),
        "Does letting toddlers nap late spoil their nights?": ("Letting toddlers nap late spoils their nights", "Letting toddlers nap late does not spoil their nights"),
        "Are paid guides safer than maps for guests whose eyes don't serve?": ("Paid guides are safer than maps for guests whose eyes don't serve", "Paid guides are not safer than maps for guests whose eyes don't serve"),
        "Should heirs be able to choose whether they take land or money?": ("Heirs should be able to choose whether they take land or money", "Heirs should not be able to choose whether they take land or money"),
        "Do old friends greatly contribute to health?": ("Old friends greatly contribute to health", "Old friends do not greatly contribute to health"),
        "Do you believe that it is hard for a nun to believe in luck?": ("It is hard for a nun to believe in luck", "It is not hard for a nun to believe in luck"),
        "Do you think it's bad for towns if the old bridge closes?": ("It is bad for towns if the old bridge closes", "It is not bad for towns if the old bridge closes"),
        "Is the law good for trade in the U.K.?": ("The law is good for trade in the U.K.", "The law is not good for trade in the U.K."),
        "Should comics such as Tintin or Asterix be taught?": ("Comics such as Tintin or Asterix should be taught", "Comics such as Tintin or Asterix should not be taught"),
        "Should guests be fed until they burst or leave?": ("Guests should be fed until they burst or leave", "Guests should not be fed until they burst or leave"),
        "How harmful are loans to people without savings?": ("Loans are harmful to people without savings", "Loans are not harmful to people without savings"),
        "How much of a danger is fog to small ships?": ("Fog is a danger to small ships", "Fog is not a danger to small ships"),
        "Do you approve or disapprove of night flights?": ("Night flights are a good idea", "Night flights are not a good idea"),
        "The canal was worth what it cost.": ("The canal was worth what it cost", "The canal was not worth what it cost"),
        "Villages should keep the pubs they grew up around.": ("Villages should keep the pubs they grew up around", "Villages should not keep the pubs they grew up around"),
        "Old friends often save lives.": ("Old friends often save lives", "Old friends do not often save lives"),
        "Draft beer should cost less.": ("Draft beer should cost less", "Draft beer should not cost less"),
        "Was the 2001-2003 reform fair?": ("The 2001-2003 reform was fair", "The 2001-2003 reform was not fair"),
        "Someone told me most charities just waste money. Is that true?": ("Most charities just waste money", "It is not true that most charities just waste money"),
        "People say owls are cruel, is there any truth in that?": ("Owls are cruel", "Owls are not cruel"),
        "I think circuses are cruel. Am I right?": ("Circuses are cruel", "Circuses are not cruel"),
    },
    "wrapped": {
        "Could you please tell me if fasting slows your metabolism?": ("Fasting slows your metabolism", "Fasting does not slow your metabolism"),
        "can someone kindly explain if masks work": ("Masks work", "Masks do not work"),
        "Is it true or false that bats are blind?": ("Bats are blind", "Bats are not blind"),
        "Does anyone else feel like dating apps ruin romance?": ("Dating apps ruin romance", "Dating apps do not ruin romance"),
        "Is it just me or are films getting too long?": ("Films are getting too long", "Films are not getting too long"),
        "Given that rents rise, and that young people are leaving because of it, should the city cap rents?": ("The city should cap rents", "The city should not cap rents"),
        "Should cash be abolished, and if so when?": ("Cash should be abolished", "Cash should not be abolished"),
        "I read somewhere that figs are not vegan, true?": ("Figs are not vegan", "Figs are vegan"),
    },
    "why people": {
        "Why do people oppose wind farms?": ("Wind farms are a good idea", "Wind farms are not a good idea"),
        "Why are some parents against vaccines?": ("Vaccines are a good idea", "Vaccines are not a good idea"),
        "why do people hate modern art": ("Modern art is good", "Modern art is not good"),
        "Why do we want to go to Mars?": ("It is a good idea to go to Mars", "It is not a good idea to go to Mars"),
        "Why do critics say the euro was a mistake?": ("The euro was a mistake", "The euro was not a mistake"),
    },
    "never broken": {
        "Is there no evidence that acupuncture works?": ("There is no evidence that acupuncture works", "There is some evidence that acupuncture works"),
        "Is there nothing wrong with lying?": ("There is nothing wrong with lying", "There is something wrong with lying"),
        "Do we only use ten percent of our brains?": ("We only use ten percent of our brains", "It is not true that we only use ten percent of our brains"),
        "Do you reckon we'd be better off without cars?": ("We would be better off without cars", "We would not be better off without cars"),
        "Does anyone else hate open offices?": ("Someone else hates open offices", "No one else hates open offices"),
        "Is government spending too high?": ("Government spending is too high", "Government spending is not too high"),
        "Ought we eat less meat?": ("We should eat less meat", "We should not eat less meat"),
        "Should children be allowed to use Instagram or TikTok?": ("Children should be allowed to use Instagram or TikTok", "Children should not be allowed to use Instagram or TikTok"),
    },
    "surface": {
        "should fone use be baned in schools": ("Phone use should be banned in schools", "Phone use should not be banned in schools"),
        "is postgres beter than oracle": ("Postgres is better than oracle", "Postgres is not better than oracle"),
        "Is hob cooking safe?": ("Hob cooking is safe", "Hob cooking is not safe"),
        "Shuold we tax meat?": ("We should tax meat", "We should not tax meat"),
        "Is nucler power dangerus?": ("Nuclear power is dangerous", "Nuclear power is not dangerous"),
        "wouldnt free buses help the enviroment": ("Free buses would help the environment", "Free buses would not help the environment"),
        "does technologie divide us": ("Technology divides us", "Technology does not divide us"),
        "IS CLIMATE CHANGE A HOAX?": ("Climate change is a hoax", "Climate change is not a hoax"),
        "does the eu need an army?": ("The EU needs an army", "The EU does not need an army"),
        "Serious question: is Die Hard a Christmas film?": ("Die Hard is a Christmas film", "Die Hard is not a Christmas film"),
        "Does ‘spare the rod, spoil the child’ still make sense?": ("“Spare the rod, spoil the child” still makes sense", "“Spare the rod, spoil the child” no longer makes sense"),
        "Is 1984 still relevant?": ("1984 is still relevant", "1984 is no longer relevant"),
        "Sorry if this is stupid, but is water wet?": ("Water is wet", "Water is not wet"),
        "Should cannabis be legal? Thank you so much": ("Cannabis should be legal", "Cannabis should not be legal"),
    },
}  # fmt: skip

ALTERNATIVES = {
    "Python vs R for data analysis": ("Python is better than R for data analysis", "R is better than Python for data analysis"),
    "electric vs petrol cars": ("Electric cars are better than petrol cars", "Petrol cars are better than electric cars"),
    "which is healthier brown or white bread": ("Brown bread is healthier", "White bread is healthier"),
    "Is it better to charge to 80 percent or 100?": ("It is better to charge to 80 percent", "It is better to charge to 100 percent"),
    "Is it better to rent for five years or ten?": ("It is better to rent for five years", "It is better to rent for ten years"),
    "Should museums give back stolen art or keep it?": ("Museums should give back stolen art", "Museums should keep stolen art"),
    "school uniform good or bad": ("School uniform is good", "School uniform is bad"),
    "Would it be better to fund trams or build roads?": ("It would be better to fund trams", "It would be better to build roads"),
    "Bitcoin: the future of money or a giant bubble?": ("Bitcoin is the future of money", "Bitcoin is a giant bubble"),
    "whats better, renting or buying?": ("Renting is better", "Buying is better"),
    "Are video games art or mere entertainment?": ("Video games are art", "Video games are mere entertainment"),
    "Should the elderly live alone, with their families or in care homes?": ("The elderly should live alone", "The elderly should live with their families", "The elderly should live in care homes"),
    "Will AI create jobs or destroy them?": ("AI will create jobs", "AI will destroy jobs"),
    "Should the state run the railways, or should private firms do it?": ("The state should run the railways", "Private firms should run the railways"),
    "Is it better to be feared or loved?": ("It is better to be feared", "It is better to be loved"),
    "Would you rather live in a city or in the country?": ("It is better to live in a city", "It is better to live in the country"),
    "Does money or love matter more?": ("Money matters more", "Love matters more"),
    "Does the tax punish families, or is it too mild on banks?": ("The tax punishes families", "The tax is too mild on banks"),
    "Does wind rule the coast, or do tides?": ("Wind rules the coast", "Tides rule the coast"),
    "audio books vs e-readers, which is nicer?": ("Audio books are nicer", "E-readers are nicer"),
    "Zoos: cruel or educational?": ("Zoos are cruel", "Zoos are educational"),
    "Night trains - a good idea or just a waste of money?": ("Night trains are a good idea", "Night trains are a waste of money"),
    "Wine: red or white?": ("Red is better than white", "White is better than red"),
    "Tea or coffee?": ("Tea is better than coffee", "Coffee is better than tea"),
    "Public schools compared to private schools": ("Public schools are better than private schools", "Private schools are better than public schools"),
    "Cats versus dogs: which make better pets?": ("Cats make better pets", "Dogs make better pets"),
    "Keynes v. Hayek: who was right?": ("Keynes was right", "Hayek was right"),
    "Which is healthier: butter or margarine?": ("Butter is healthier", "Margarine is healthier"),
    "What's better for the planet? Buses, bikes or trams?": ("Buses are better for the planet", "Bikes are better for the planet", "Trams are better for the planet"),
    "Opera vs football, which should we fund more?": ("We should fund opera more", "We should fund football more"),
    "Which should we save first: the whale or the tiger?": ("We should save the whale", "We should save the tiger"),
    "How should cities fight traffic: with tolls, bans or better trains?": ("Cities should fight traffic with tolls", "Cities should fight traffic with bans", "Cities should fight traffic with better trains"),
    "Some say tourism saves villages, others say it destroys them. What do you think?": ("Tourism saves villages", "Tourism destroys villages"),
}  # fmt: skip

ONE_SIDE = {
    "Explain why circuses should be closed": "Circuses should be closed",
    "give me reasons why golf is harmful": "Golf is harmful",
    "arguments for a wealth tax": "A wealth tax is a good idea",
    "What are the arguments against fracking?": "Fracking is not a good idea",
    "Give me evidence that video games make children violent": "Video games make children violent",
    "Find a passage that contradicts the claim: the earth is warming": "The earth is not warming",
    "counterarguments to the claim that women are worse drivers": "Women are not worse drivers",
    "Evidence against the idea that sugar makes kids hyperactive": "Sugar does not make kids hyperactive",
}


@pytest.mark.parametrize(
    ("question", "sides"), [x for form in SIDES.values() for x in form.items()]
)
def test_both_sides_of_a_claim_exclude_each_other(question, sides):
    found = extract_by_rule(question)
    assert tuple(p.text for p in found.perspectives) == sides
    assert (found.kind, found.exclusive) == ("sides", True)
    assert all(
        side in found.reading.replace('"', "'") or "'" in side or '"' in side for side in sides
    )


@pytest.mark.parametrize(("question", "texts"), ALTERNATIVES.items())
def test_of_two_alternatives_one_is_asked_for_and_of_more_several_may_hold(question, texts):
    found = extract_by_rule(question)
    assert tuple(p.text for p in found.perspectives) == texts
    assert (found.kind, found.exclusive) == ("alternatives", len(texts) == 2)


@pytest.mark.parametrize(("question", "side"), ONE_SIDE.items())
def test_only_the_side_asked_for(question, side):
    found = extract_by_rule(question)
    assert [p.text for p in found.perspectives] == [side]
    assert not found.exclusive


def test_two_questions_give_the_sides_of_both():
    found = extract_by_rule("Is fracking safe, and should it be allowed in Wales?")
    assert [(p.id, p.text) for p in found.perspectives] == [
        ("support", "Fracking is safe"),
        ("oppose", "Fracking is not safe"),
        ("support2", "Fracking should be allowed in Wales"),
        ("oppose2", "Fracking should not be allowed in Wales"),
    ]


@pytest.mark.parametrize(
    "question",
    [
        "My sister feeds her cat a vegan diet. Is that cruel?",
        "Should they be banned?",
        "How worried are you about privacy?",
        "How do people feel about fracking?",
        "How do people learn languages?",
        "zoos closed cages cruel",
    ],
)
def test_what_cannot_be_put_as_a_whole_statement_is_left_open(question):
    found = extract_by_rule(question)
    assert (found.kind, found.perspectives) == ("open", ())


@pytest.mark.parametrize(
    "side",
    ["Zoos", "Zoos should be closed and", "Should zoos be closed", "Zoos not not are cruel",
     "Zoos are cruel? Yes they are", "“Zoos are cruel", "the of zoos"],
)  # fmt: skip
def test_nonsense_is_no_side(side):
    assert not sound(side)


def test_a_side_must_differ_from_the_other():
    assert sound_sides(["Zoos are cruel", "Zoos are not cruel"])
    assert not sound_sides(["Zoos are cruel", "zoos are cruel."])
    assert not sound_sides(["Zoos are cruel"])


@pytest.mark.parametrize(
    ("question", "label", "statement"),
    [
        ("Which is the best source of power?", "nuclear", "Nuclear is the best source of power"),
        ("Should zoos be closed?", "Zoos save species", "Zoos save species"),
        ("Should zoos be closed?", "against", "Zoos should not be closed"),
        ("Should zoos be closed?", "yes", "Zoos should be closed"),
        (
            "How should cities cut traffic?",
            "road tolls",
            "Cities should cut traffic with road tolls",
        ),
        ("Who should pay for roads?", "drivers", "Drivers should pay for roads"),
        ("Should zoos be closed?", "animal welfare", "Animal welfare"),
    ],
)
def test_a_short_name_becomes_a_statement_about_the_question(question, label, statement):
    assert as_statement_about(question, label) == statement


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        (
            "Who should own the Parthenon marbles, Greece or the British Museum?",
            [
                "Greece should own the Parthenon marbles",
                "The British Museum should own the Parthenon marbles",
            ],
        ),
        (
            "Whose job is recycling, the state's or the citizen's?",
            ["Recycling is the state's job", "Recycling is the citizen's job"],
        ),
        (
            "I'm thinking of becoming a vegetarian, is it healthy?",
            ["Becoming a vegetarian is healthy", "Becoming a vegetarian is not healthy"],
        ),
        (
            "Many schools are introducing uniforms. Do they improve discipline?",
            ["Uniforms improve discipline", "Uniforms do not improve discipline"],
        ),
        (
            "Electric scooters are being introduced in Warsaw. Should they be banned?",
            ["Electric scooters should be banned", "Electric scooters should not be banned"],
        ),
        (
            "I just read about lab-grown meat. Is it healthy?",
            ["Lab-grown meat is healthy", "Lab-grown meat is not healthy"],
        ),
        (
            "Parliament is debating a tax on sugar. Would it help the poor?",
            ["A tax on sugar would help the poor", "A tax on sugar would not help the poor"],
        ),
        (
            "The city wants to introduce a congestion charge. Is that fair?",
            [
                "The city should introduce a congestion charge",
                "The city should not introduce a congestion charge",
            ],
        ),
    ],
)
def test_the_topic_is_carried_from_what_was_said_before(question, sides):
    assert [each.text for each in extract_by_rule(question).perspectives] == sides
