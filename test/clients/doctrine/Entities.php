<?php

use Doctrine\Common\Collections\ArrayCollection;
use Doctrine\Common\Collections\Collection;
use Doctrine\ORM\Mapping as ORM;

#[ORM\Entity]
#[ORM\Table(name: 'orders')]
class Purchase
{
    #[ORM\Id]
    #[ORM\Column(type: 'flake', options: ['default' => 'flake_next()'])]
    #[ORM\GeneratedValue(strategy: 'CUSTOM')]
    #[ORM\CustomIdGenerator(class: FlakeGenerator::class)]
    public ?int $id = null;

    #[ORM\OneToMany(mappedBy: 'order', targetEntity: Line::class, cascade: ['persist'])]
    public Collection $lines;

    public function __construct(#[ORM\Column(type: 'text')] public string $item)
    {
        $this->lines = new ArrayCollection();
    }
}

#[ORM\Entity]
#[ORM\Table(name: 'lines')]
class Line
{
    #[ORM\Id]
    #[ORM\Column(type: 'flake', options: ['default' => 'flake_next()'])]
    #[ORM\GeneratedValue(strategy: 'CUSTOM')]
    #[ORM\CustomIdGenerator(class: FlakeGenerator::class)]
    public ?int $id = null;

    public function __construct(
        #[ORM\ManyToOne(inversedBy: 'lines')]
        #[ORM\JoinColumn(name: 'order_id', nullable: false, options: ['default' => null])]
        public Purchase $order
    ) {
    }
}

#[ORM\Entity]
#[ORM\Table(name: 'tickets')]
class Ticket
{
    #[ORM\Id]
    #[ORM\Column(type: 'flake_sealed', options: ['default' => 'flake_next()'])]
    #[ORM\GeneratedValue(strategy: 'CUSTOM')]
    #[ORM\CustomIdGenerator(class: FlakeSealedGenerator::class)]
    public ?string $id = null;

    #[ORM\OneToMany(mappedBy: 'ticket', targetEntity: Reply::class, cascade: ['persist'])]
    public Collection $replies;

    public function __construct(#[ORM\Column(type: 'text')] public string $item)
    {
        $this->replies = new ArrayCollection();
    }
}

#[ORM\Entity]
#[ORM\Table(name: 'replies')]
class Reply
{
    #[ORM\Id]
    #[ORM\Column(type: 'flake_sealed', options: ['default' => 'flake_next()'])]
    #[ORM\GeneratedValue(strategy: 'CUSTOM')]
    #[ORM\CustomIdGenerator(class: FlakeSealedGenerator::class)]
    public ?string $id = null;

    public function __construct(
        #[ORM\ManyToOne(inversedBy: 'replies')]
        #[ORM\JoinColumn(name: 'ticket_id', nullable: false, options: ['default' => null])]
        public Ticket $ticket
    ) {
    }
}

#[ORM\Entity]
#[ORM\Table(name: 'invoices')]
class Invoice
{
    #[ORM\Id]
    #[ORM\Column(type: 'bigint', options: ['default' => 'flake_next()'])]
    #[ORM\GeneratedValue(strategy: 'CUSTOM')]
    #[ORM\CustomIdGenerator(class: FlakeGenerator::class)]
    public ?string $id = null;
}

#[ORM\Entity]
#[ORM\Table(name: 'payments')]
class Payment
{
    #[ORM\Id]
    #[ORM\Column(type: 'bigint', options: ['default' => 'flake_next()'])]
    #[ORM\GeneratedValue(strategy: 'CUSTOM')]
    #[ORM\CustomIdGenerator(class: FlakeGenerator::class)]
    public ?string $id = null;

    public function __construct(
        #[ORM\ManyToOne]
        #[ORM\JoinColumn(name: 'invoice_id', nullable: false, options: ['default' => null])]
        public Invoice $invoice
    ) {
    }
}
